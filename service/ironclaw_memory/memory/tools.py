"""The five tools as a model sees them: a name and JSON in, JSON or an error in words out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ironclaw_memory.contract.advisories import Advisory
from ironclaw_memory.contract.arguments import (
    PARSERS,
    ProfileSetArguments,
    ReadArguments,
    SearchArguments,
    ToolId,
    TreeArguments,
    WriteArguments,
    parse_tool_id,
)
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.faults import CallCancelled, DeadlineExceeded, Fault, Kind, PermissionForbidden
from ironclaw_memory.contract.grant import Permission
from ironclaw_memory.contract.results import ProfileSetResult, tree_to_json
from ironclaw_memory.contract.tool_json import parse_tool_json
from ironclaw_memory.memory.profile import ProfileWriter
from ironclaw_memory.memory.read import Reader
from ironclaw_memory.memory.search import Searcher
from ironclaw_memory.memory.tree import Lister
from ironclaw_memory.memory.write import Writer


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What goes back to the model.

    Attributes:
        output_json: the tool's output; empty when `error` is set.
        advisories: remarks on what was stored.
        error: why the call failed, when the model may be told.
    """

    output_json: str = ""
    advisories: tuple[Advisory, ...] = ()
    error: Fault | None = None


Answer = tuple[Any, tuple[Advisory, ...]]

NEEDS: Final[Mapping[ToolId, Permission]] = {
    ToolId.WRITE: Permission.WRITE,
    ToolId.READ: Permission.READ,
    ToolId.SEARCH: Permission.READ,
    ToolId.TREE: Permission.READ,
    ToolId.PROFILE_SET: Permission.WRITE,
}
"""Which permission a tool needs: the same as the RPC of its name."""


class Toolbox:
    """Runs tools by name on a model's JSON."""

    def __init__(
        self, writer: Writer, reader: Reader, searcher: Searcher, lister: Lister, profiles: ProfileWriter
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._searcher = searcher
        self._lister = lister
        self._profiles = profiles
        self._tools: Final[Mapping[ToolId, Callable[[Call, Any], Answer]]] = {
            ToolId.WRITE: self._write,
            ToolId.READ: self._read,
            ToolId.SEARCH: self._search,
            ToolId.TREE: self._tree,
            ToolId.PROFILE_SET: self._profile_set,
        }

    def invoke(self, call: Call, tool_id: str, arguments_json: str) -> ToolOutcome:
        """Run a tool; what the model can be told comes back as `error`.

        Raises:
            PermissionForbidden: the host's credential doesn't allow the tool.
            Fault: of kind `unavailable`, or the call's time is over: the host's affair, not the model's.
        """
        try:
            known = parse_tool_id(tool_id)
            tool = self._tools[known]
            call.require(NEEDS[known])
            output, advisories = tool(call, PARSERS[known](parse_tool_json(arguments_json)))
        except (DeadlineExceeded, CallCancelled, PermissionForbidden):
            raise
        except Fault as fault:
            if fault.kind is Kind.UNAVAILABLE:
                raise
            return ToolOutcome(error=fault)
        return ToolOutcome(json.dumps(output, ensure_ascii=False), advisories)

    def _write(self, call: Call, arguments: WriteArguments) -> Answer:
        result = self._writer.write(call, arguments)
        return result.to_tool_json(), result.advisories

    def _read(self, call: Call, arguments: ReadArguments) -> Answer:
        return self._reader.read(call, arguments.path).to_tool_json(), ()

    def _search(self, call: Call, arguments: SearchArguments) -> Answer:
        return self._searcher.search(call, arguments).to_tool_json(), ()

    def _tree(self, call: Call, arguments: TreeArguments) -> Answer:
        entries, _truncated = self._lister.tree(call, arguments.path, arguments.depth)
        return tree_to_json(entries), ()

    def _profile_set(self, call: Call, arguments: ProfileSetArguments) -> Answer:
        replayed = self._profiles.set(call, arguments)
        return ProfileSetResult(replayed).to_tool_json(), ()
