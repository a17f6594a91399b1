"""What happens after a turn: the exchange is recorded in its thread, and the turn counts towards the next curation.

A turn is counted once, however often and by however many processes it is recorded, and not at all when its record is
refused. So it is noted before the record is committed (a crash in between loses nothing), taken back when the record is
refused, and looked for once more when the record is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from ironclaw_memory.contract.argument_rules import check_metadata
from ironclaw_memory.contract.call import Call, Deadline
from ironclaw_memory.contract.document import Metadata
from ironclaw_memory.contract.faults import DocumentMissing, Fault, OutcomeUnknown
from ironclaw_memory.contract.interaction import Message, check_turn_run_id, record_path, write_exchange
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.safety import Operation
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.memory.changes import DocumentChanges, Edit
from ironclaw_memory.safety.envelope import strip_recalled
from ironclaw_memory.store.curation import CurationStore, turn_digest

SOURCE: Final = "memory_lifecycle_service.record_interaction"
_SECONDS_TO_TAKE_BACK: Final = 5.0
"""For a turn whose record was refused because its time was over."""


class RecordStore(Protocol):
    """What recording needs of the store, besides the choke point."""

    def read_head(self, scope: Scope, path: DocumentPath, max_bytes: int) -> tuple[bytes, int]:
        """See `store.documents.DocumentStore.read_head`."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """A turn as the host reports it.

    Attributes:
        messages: the exchange, in order.
        turn_run_id: names the run; empty when the host has none.
        metadata: laid over the record's own; None leaves them alone.
        background: whether nobody was there: recorded, but not counted.
    """

    messages: tuple[Message, ...]
    turn_run_id: str
    metadata: Metadata | None = None
    background: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded.

    Attributes:
        path: where; empty when there was nothing to record.
        turns: distinct turns since the last curation.
        is_due: whether it is time to curate.
    """

    path: str = ""
    turns: int = 0
    is_due: bool = False


class InteractionRecorder:
    """Records turns of one scope at a time.

    Args:
        changes: the choke point; a record is versioned and limited like any document.
        store: tells whether a record is there.
        turns: counts.
        curation_turns: how many turns make a curation due; 0 for never.
    """

    def __init__(self, changes: DocumentChanges, store: RecordStore, turns: CurationStore, curation_turns: int) -> None:
        self._changes = changes
        self._store = store
        self._turns = turns
        self._curation_turns = curation_turns

    def record(self, call: Call, interaction: Interaction) -> Recorded:
        """Store a turn, durably; without a thread, a run id or messages nothing is stored.

        What was recalled for the turn is taken out of its messages: stored again, it would be found again and grow.

        Raises:
            InvalidArguments: the run id breaks the rule of scope ids, or the metadata can't be stored.
            Fault: as a write.
        """
        if call.thread_id is None or not interaction.turn_run_id or not interaction.messages:
            return Recorded()
        run_id = check_turn_run_id(interaction.turn_run_id)
        if interaction.metadata is not None:
            check_metadata(interaction.metadata)
        path = record_path(call.thread_id, run_id)
        if interaction.background:
            self._store_record(call, path, interaction)
            return self._recorded(call, path, None)
        turn = turn_digest(call.thread_id, run_id)
        self._store_counted(call, path, interaction, turn)
        return self._recorded(call, path, turn)

    def _store_counted(self, call: Call, path: DocumentPath, interaction: Interaction, turn: bytes) -> None:
        was_recorded = self._is_recorded(call, path)
        is_new = self._turns.note_turn(call.scope, turn, was_recorded=was_recorded, deadline=call.deadline)
        try:
            self._store_record(call, path, interaction)
        except OutcomeUnknown:
            raise
        except Fault:
            if is_new:
                self._take_back(call, path, turn)
            raise

    def _take_back(self, call: Call, path: DocumentPath, turn: bytes) -> None:
        # Should this fail, a turn that took place is counted without its record: a curation comes one turn early.
        with suppress(Fault):
            if not self._is_recorded(call, path):
                self._turns.withdraw_turn(call.scope, turn, deadline=Deadline.after(_SECONDS_TO_TAKE_BACK))

    def _is_recorded(self, call: Call, path: DocumentPath) -> bool:
        try:
            self._store.read_head(call.scope, path, 0)
        except DocumentMissing:
            return False
        return True

    def _store_record(self, call: Call, path: DocumentPath, interaction: Interaction) -> None:
        messages = tuple(replace(each, content=strip_recalled(each.content)) for each in interaction.messages)
        text = write_exchange(messages)

        def overwrite(_old: str | None) -> tuple[str, Mapping[str, Any]]:
            return text, {}

        arguments = {"path": path.text, "content": text, "metadata": interaction.metadata}
        self._changes.apply(call, path, Edit(overwrite, Operation.WRITE, SOURCE, interaction.metadata), arguments)

    def _recorded(self, call: Call, path: DocumentPath, turn: bytes | None) -> Recorded:
        turns = self._turns.count_turns(call.scope, recorded=turn, deadline=call.deadline)
        return Recorded(path.text, turns, is_due(turns, self._curation_turns))


def is_due(turns: int, curation_turns: int) -> bool:
    """Tell whether so many turns make a curation due; `curation_turns` 0 is never."""
    return 0 < curation_turns <= turns
