"""The audit trail's page and protos name the kinds of events that the code knows."""

import re
from pathlib import Path

from ironclaw.memory.v1 import event_service_pb2
from ironclaw_memory.contract.events import ChangeKind
from ironclaw_memory.contract.safety import EventKind
from ironclaw_memory.events.record import CLOSED, MENDED, OPENED

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
KINDS = {kind.value for kind in (*ChangeKind, *EventKind)}


def test_the_page_lists_every_kind():
    """The table of events is the code's, records about files included."""
    table = PAGE.split("## What is recorded\n", 1)[1].split("\n## ", 1)[0]
    first_cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert {kind.strip("` ") for cell in first_cells for kind in cell.split(",")} == KINDS | {OPENED, CLOSED, MENDED}


def test_the_wire_knows_every_kind():
    """A watch can name each kind, and no other."""
    on_the_wire = {name.removeprefix("EVENT_KIND_").lower() for name in event_service_pb2.EventKind.keys()}  # noqa: SIM118
    assert on_the_wire == KINDS | {"unspecified"}
