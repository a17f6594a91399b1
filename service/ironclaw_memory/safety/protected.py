"""The documents that become part of a prompt (contract 4.1), and the class under which events name them.

A table and its look-up; what happens to a text that is meant for one of them is the policy's affair.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from ..contract.path import DocumentPath, parse_document_path

POLICY_VERSION: Final = "prompt-protected-paths:v1"
CUSTOM_CLASS: Final = "custom_protected_path"

PROTECTED: Final = MappingProxyType(
    {
        "SOUL.md": "soul_md",
        "AGENTS.md": "agents_md",
        "USER.md": "user_md",
        "IDENTITY.md": "identity_md",
        "SYSTEM.md": "system_md",
        "MEMORY.md": "memory_md",
        "TOOLS.md": "tools_md",
        "HEARTBEAT.md": "heartbeat_md",
        "BOOTSTRAP.md": "bootstrap_md",
        "context/assistant-directives.md": "context_assistant_directives",
        "context/profile.json": "context_profile",
    }
)


class ProtectedPaths:
    """The built-in table and the operator's additions.

    Paths are compared without regard to letter case: on a file system that ignores case `soul.md` is `SOUL.md`, and a
    host that loads prompt files may ignore it too.

    Args:
        extra: further paths, each in the grammar of contract 2.2.

    Raises:
        InvalidPath: an extra path breaks the grammar.
    """

    def __init__(self, extra: tuple[str, ...] = ()) -> None:
        self._classes = {parse_document_path(text).text.casefold(): CUSTOM_CLASS for text in extra}
        self._classes.update((text.casefold(), name) for text, name in PROTECTED.items())

    def class_of(self, path: DocumentPath) -> str | None:
        """Return the event class of `path`, or None when it isn't protected."""
        return self._classes.get(path.text.casefold())
