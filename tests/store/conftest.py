from __future__ import annotations

import pytest

from ironclaw_memory.store import openat2, stamps
from tests.store.workbench import Workbench


@pytest.fixture
def bench(tmp_path):
    """A store in an empty data directory."""
    return Workbench(tmp_path / "data")


@pytest.fixture
def settled(monkeypatch):
    """Every stat counts as old enough to prove something, so that nothing has to be waited for."""
    monkeypatch.setattr(stamps, "SETTLED_AFTER_NS", -(10**18))


@pytest.fixture
def unsettled(monkeypatch):
    """No stat counts as old enough, however slow the machine is."""
    monkeypatch.setattr(stamps, "SETTLED_AFTER_NS", 10**18)


@pytest.fixture(params=["at once", "one by one"])
def way(request, monkeypatch):
    """Both ways of opening a path without following links; the first where the kernel has it."""
    if request.param == "one by one":
        monkeypatch.setattr(openat2, "is_offered", lambda: False)
    elif not openat2.is_offered():
        pytest.skip("this kernel has no openat2")
    return request.param
