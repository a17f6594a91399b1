"""The trusted side of a call: whose memory it is about. Where the values come from is the interceptor's affair."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .faults import ScopeInvalid

MAX_SEGMENT_BYTES = 256
ABSENT = "_none"
"""Stands for an absent agent or project in folder names, so no agent or project may be called so."""

_FORBIDDEN = re.compile(r"[/\\:\x00-\x1f\x7f-\x9f]")
"""The three signs and what Unicode calls control characters; one pass in C, since every call is checked."""


def check_segment(value: str, axis: str, *, may_be_none_marker: bool = True) -> str:
    r"""Return `value` when it obeys the segment rule of contract section 1.

    Args:
        value: the id as the host sent it; kept byte for byte, never normalised.
        axis: the axis's name for the message, such as `user`.
        may_be_none_marker: False on agent and project, where `_none` means absent.

    Raises:
        ScopeInvalid: the value is not 1 to 256 bytes of UTF-8, is blank, `.` or `..`, holds `/`, `\`, `:` or a control
            character, or is the reserved `_none`.
    """
    field = f"x-ironclaw-{axis}-id"
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise ScopeInvalid(f"The {axis} id isn't valid Unicode.", field=field) from None
    if not 1 <= size <= MAX_SEGMENT_BYTES:
        raise ScopeInvalid(f"The {axis} id must have 1 to {MAX_SEGMENT_BYTES} bytes.", field=field)
    if not value.strip() or value in (".", ".."):
        raise ScopeInvalid(f"The {axis} id must not be blank, '.' or '..'.", field=field)
    if _FORBIDDEN.search(value):
        raise ScopeInvalid(f"The {axis} id must not hold '/', '\\', ':' or a control character.", field=field)
    if value == ABSENT and not may_be_none_marker:
        raise ScopeInvalid(f"The {axis} id '{ABSENT}' is reserved.", field=field)
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """The four axes that keep documents apart. Making one checks it, so holding one means that it was checked.

    An absent agent or project is its own scope, not a wildcard. The thread is no axis: what one conversation writes,
    the user's other conversations read.

    Raises:
        ScopeInvalid: an axis breaks the segment rule.
    """

    tenant: str
    user: str
    agent: str | None = None
    project: str | None = None

    def __post_init__(self) -> None:
        check_segment(self.tenant, "tenant")
        check_segment(self.user, "user")
        if self.agent is not None:
            check_segment(self.agent, "agent", may_be_none_marker=False)
        if self.project is not None:
            check_segment(self.project, "project", may_be_none_marker=False)

    def of_the_human(self) -> Scope:
        """Return the scope of the user alone, where the profile lives."""
        return replace(self, agent=None, project=None)
