"""The log of refused credentials: the first of a kind at once, a flood in sums."""

from __future__ import annotations

from structlog.testing import capture_logs

from ironclaw_memory.contract.faults import CredentialsInvalid
from ironclaw_memory.interceptors.refusals import QUIET_SECONDS, RefusalLog

METHOD = "/ironclaw.memory.v1.MemoryService/Read"


def test_a_flood_is_two_lines_and_counts_whole():
    """Within the quiet time only the first of a matter is logged and told; the next line says how many there were."""
    told, now = [], [0.0]
    refusals = RefusalLog(lambda *what: told.append(what), lambda: now[0])
    with capture_logs() as lines:
        for _ in range(1000):
            refusals.note(METHOD, CredentialsInvalid(), "forged API key", "k3v9x2m7qa")
        refusals.note(METHOD, CredentialsInvalid(), "expired API key", "k3v9x2m7qa")
        now[0] += QUIET_SECONDS
        refusals.note(METHOD, CredentialsInvalid(), "forged API key", "k3v9x2m7qa")
    assert [(line["why"], line["times"]) for line in lines] == [
        ("forged API key", 1),
        ("expired API key", 1),
        ("forged API key", 1000),
    ]
    assert len(told) == 3


def test_many_matters_are_not_remembered_for_ever():
    """Memory is bounded, whatever comes."""
    refusals = RefusalLog()
    with capture_logs():
        for number in range(2000):
            refusals.note(METHOD, CredentialsInvalid(), "forged API key", str(number))
    assert len(refusals._matters) <= 256
