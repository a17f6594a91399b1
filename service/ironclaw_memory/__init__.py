"""ironclaw-memory: persistent memory for AI agents, served over gRPC from plain files."""

__version__ = "0.1.0"
