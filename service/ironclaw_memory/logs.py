"""Structured logs: one JSON object a line on standard error; reasons and sizes, never content or paths."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logs(level: str) -> None:
    """Send this process's log lines of at least `level` to standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
