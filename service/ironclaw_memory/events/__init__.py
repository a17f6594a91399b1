"""The audit trail: what an event says, the chained files that keep it, and those who read them."""

from .audit_log import AuditLog

__all__ = ["AuditLog"]
