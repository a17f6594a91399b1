"""The two ways in which credentials fail: their files can't be used, or a caller's isn't accepted."""

from __future__ import annotations


class CredentialsError(Exception):
    """A file of credentials can't be used. The message is one line for the operator."""


class Refused(Exception):
    """A credential isn't accepted.

    Args:
        why: a few fixed words for the log; nothing that the caller sent.
        subject: which of our own keys or entries it was, where it named one of them.
    """

    def __init__(self, why: str, subject: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.subject = subject
