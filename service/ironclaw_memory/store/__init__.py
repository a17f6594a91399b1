"""Documents on disk: plain files under scopes, kept through crashes, with their versions, metadata and request ids.

Start with `documents.py` (what the store offers), then `commit.py` (how a change becomes durable, and why in that
order), then `files.py`. The store knows no tools, no safety rules, no index and no gRPC.
"""

from .datadir import DataDir, DataDirError, open_data_dir
from .documents import DocumentStore, StoreLimits

__all__ = ["DataDir", "DataDirError", "DocumentStore", "StoreLimits", "open_data_dir"]
