"""No damage makes the audit trail's reader fail, and no damaged record passes for a genuine one."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ironclaw_memory.contract.safety import EventKind, Operation, SafetyFinding
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.events import AuditLog
from ironclaw_memory.events.chain import derive_key
from ironclaw_memory.events.reading import read_file, read_last_line, read_records
from ironclaw_memory.events.verifying import verify_files

SECRET = b"k" * 32
KEY = derive_key(SECRET)
FOLDER = Path(tempfile.mkdtemp())
FINDING = SafetyFinding(EventKind.CHECKED, Operation.WRITE, "fuzz", "policy:v1", "memory_md", "MEMORY.md")


def _make_trail() -> tuple[Path, bytes]:
    log = AuditLog(FOLDER, SECRET)
    recorder = log.recorder(Scope("acme", "ada"), "correlation")
    for kind in (EventKind.CHECKED, EventKind.WARNED):
        recorder.record(replace(FINDING, kind=kind))
    log.close()
    (path,) = FOLDER.glob("events-*.jsonl")
    return path, path.read_bytes()


PATH, GENUINE = _make_trail()
LINES = GENUINE.splitlines(keepends=True)


def seeds() -> Iterator[bytes]:
    """Yield what to begin with: the trail as it was written, and parts of it."""
    yield from (GENUINE, *LINES, GENUINE[:-5], b"".join(reversed(LINES)), b"\n\n", b"{}\n")


def check(data: bytes) -> None:
    """Put the bytes in the place of the trail."""
    PATH.write_bytes(data)
    for line in read_file(FOLDER, PATH.name):
        assert line.end <= len(data)
        if line.link is not None and line.link.is_genuine(KEY):
            assert line.data in LINES
    read_last_line(FOLDER, PATH.name)
    list(read_records([FOLDER]))
    problems = verify_files([FOLDER], KEY).problems
    whole = data[: data.rfind(b"\n") + 1]
    assert problems or GENUINE.startswith(whole), "damage that nobody notices"
