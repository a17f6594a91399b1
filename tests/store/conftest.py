from __future__ import annotations

import pytest

from tests.store.workbench import Workbench


@pytest.fixture
def bench(tmp_path):
    """A store in an empty data directory."""
    return Workbench(tmp_path / "data")
