"""What each guarantees, tried out: nothing in the table is copied from documentation, but the languages.

Each is started three times: under strace, to see whether a write reaches the disk before it is answered; to be killed
while it writes; and to be asked for what is left.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.compare.rivals import Rival
from bench.compare.session import Failed, Session, new_folder, started
from bench.compare.speed import Plan
from bench.compare.subjects import NO, PARTLY, YES, Finding, Lacking
from bench.compare.syscalls import COMMAND, SyncShare, read_log

KILL_SECONDS: Final = 60.0
RACE_SECONDS: Final = 40.0
APPENDERS: Final = 2
UNKNOWN: Final = "?"

GUARANTEES: Final = {
    "synced": "synced to the disk before the answer",
    "killed": "acknowledged writes survive SIGKILL",
    "appends": f"no append of {APPENDERS} clients is lost",
    "hand_edit": "sees an edit by hand",
    "tenants": "keeps users apart",
    "attack": "keeps a hijack out of the prompt",
    "history": "history and restore",
    "retry": "a retried change is made once",
}

Findings = dict[str, Finding]


def try_guarantees(rival: Rival, root: Path, material: Path, plan: Plan) -> tuple[Findings, str]:
    """Return the findings by guarantee, and what can call the rival."""
    findings = {
        "synced": _tried(lambda: _watch_syncs(rival, root, material, plan.timed)),
        "killed": _tried(lambda: _kill(rival, root, material, plan.acknowledged)),
    }
    try:
        with started(rival, root, material) as session:
            findings |= _ask(session, plan)
            return findings, session.languages
    except Failed as why:
        rest = (name for name in GUARANTEES if name not in findings)
        return findings | {name: Finding(UNKNOWN, str(why)) for name in rest}, UNKNOWN


def _tried(trial: Callable[[], Finding]) -> Finding:
    try:
        return trial()
    except Lacking as lacking:
        return Finding(NO, str(lacking))
    except Failed as why:
        return Finding(UNKNOWN, str(why))


def _ask(session: Session, plan: Plan) -> Findings:
    findings = {
        "appends": _tried(lambda: _race(session, plan.appends)),
        "hand_edit": _tried(lambda: tell_edit(session.order("edit_by_hand"))),
    }
    for name in ("attack", "history", "retry", "tenants"):  # the last may lock everybody else out
        findings[name] = _tried(lambda name=name: Finding(**session.order("probe", what=name)))  # type: ignore[misc]
    return findings


def _watch_syncs(rival: Rival, root: Path, material: Path, count: int) -> Finding:
    if not shutil.which("strace"):
        return Finding(UNKNOWN, "strace isn't there to watch")
    with tempfile.NamedTemporaryFile(dir=root, prefix="strace-") as log:
        with started(rival, root, material, (*COMMAND, "-o", log.name)) as session:
            session.order("time_puts", count=1)  # what is made at the first write isn't counted
            writes = session.order("time_puts", count=count)
        return tell_syncs(read_log(Path(log.name), [(began, ended) for began, ended in writes]))


def tell_syncs(share: SyncShare) -> Finding:
    """Judge by how many writes had a sync end before their answer."""
    holds = YES if share.synced == share.writes else PARTLY if share.synced else NO
    said = f"a sync ended before the answer in {share.synced} of {share.writes} writes; {share.calls:.1f} syncs a write"
    return Finding(holds, said)


def _kill(rival: Rival, root: Path, material: Path, wanted: int) -> Finding:
    with new_folder(rival, root) as folder:
        acknowledged = _write_and_kill(Session(rival, folder, material), wanted)
        with Session(rival, folder, material) as again:
            missing = again.order("missing", count=acknowledged)
    return Finding(NO if missing else YES, f"{acknowledged - missing} of {acknowledged} acknowledged writes were there")


def _write_and_kill(session: Session, wanted: int) -> int:
    """Kill the process that holds the data while it is written to; return how many writes were acknowledged by then."""
    session.send("put_until_killed", seconds=KILL_SECONDS)
    acknowledged, end = 0, time.monotonic() + KILL_SECONDS
    try:
        while acknowledged < wanted and time.monotonic() < end:
            told = session.receive()
            if "acknowledged" not in told:
                raise Failed(f"stopped writing: {told}")
            acknowledged = told["acknowledged"] + 1
    finally:
        session.kill()
    return acknowledged


def _race(session: Session, each: int) -> Finding:
    return tell_race(session.order("race_appends", lanes=APPENDERS, each=each, seconds=RACE_SECONDS))


def tell_race(seen: dict[str, Any]) -> Finding:
    """Judge by how many acknowledged lines are there."""
    lost = seen["acknowledged"] - seen["kept"]
    refused = f"; {seen['refused']} refused" if seen["refused"] else ""
    return Finding(
        NO if lost else YES, f"{seen['kept']} of {seen['acknowledged']} acknowledged lines were there{refused}"
    )


def tell_edit(seen: dict[str, float | None]) -> Finding:
    """Judge by when a read and a search saw the edit."""
    missed = [name for name, seconds in seen.items() if seconds is None]
    if missed:
        return Finding(NO if len(missed) == len(seen) else PARTLY, f"not seen by {' and '.join(missed)} within 10 s")
    return Finding(YES, ", ".join(f"{name} after {seconds:.1f} s" for name, seconds in seen.items()))
