"""The service's catalogue of tools, and what to offer while the service can't be asked.

A host lists the tools once, when it starts, and often before the service is up. A host that was told of no tools then
would have no memory until somebody restarts it; so as long as the service doesn't answer, the catalogue is the one that
came with this package. Both come from the same files.
"""

from __future__ import annotations

from typing import Final

import structlog

from ironclaw_memory_client import AsyncMemoryClient, MemoryServiceError, ToolCatalogue, system_prompt
from ironclaw_memory_client.tools import tool_id

from .calls import call_apart

PATIENCE_SECONDS: Final = 1.0
"""How long a host may wait for the service before it gets what is at hand: it shows no window meanwhile."""

HOST_NOTE: Final = """\
## In this host

Nothing of the memory comes back here by itself. When a conversation begins, read `MEMORY.md` with
`ironclaw.memory.read`; `NOT_FOUND` means that nothing was noted yet. Then look for the rest with
`ironclaw.memory.search` as the conversation needs it.
"""
"""Mends what the guidance says of hosts that retrieve the context of each turn: an MCP host has no such step."""

log = structlog.get_logger("ironclaw_memory.mcp")


class Catalogue:
    """The tools as they were last seen.

    Args:
        client: asks the service.
        packaged: what to offer until the service has answered once.
        dotted: name tools by their ids instead of with underscores.
    """

    def __init__(self, client: AsyncMemoryClient, packaged: ToolCatalogue, *, dotted: bool) -> None:
        self._client = client
        self._seen = packaged
        self.dotted = dotted

    async def refresh(self) -> ToolCatalogue:
        """Ask the service, and return its catalogue; the one last seen when it doesn't answer in time."""
        try:
            self._seen = await call_apart(self._client.list_tools(deadline=PATIENCE_SECONDS))
        except MemoryServiceError as error:
            log.warning("tools not listed by the service", code=error.code.name, reason=error.reason)
        return self._seen

    def writes(self, name: str) -> bool | None:
        """Tell whether the tool of that name, in either form, changes documents; None when there is no such tool."""
        return next((tool.writes for tool in self._seen.tools if tool.id == tool_id(name)), None)

    def instructions(self) -> str:
        """Return what the model should know of the memory as a whole, with tools named as the host names them."""
        texts = ToolCatalogue((), f"{self._seen.guidance.strip()}\n\n{HOST_NOTE}")
        return system_prompt(texts, with_prompts=False, dotted=self.dotted)
