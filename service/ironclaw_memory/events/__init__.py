"""The audit trail of the safety check: what an event says, and the file that keeps it."""

from .safety_log import SafetyLog

__all__ = ["SafetyLog"]
