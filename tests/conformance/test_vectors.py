"""Every scenario of the vectors against a running server, one test a scenario."""

from __future__ import annotations

import pytest

from tests.caller import ServiceMissingError
from tests.conformance.runner import Scenario, load_scenarios, run_scenario

SCENARIOS = tuple(load_scenarios())

PENDING: dict[str, str] = {}
"""Scenarios that can't run yet, with the reason. One that runs fails the suite until its line here is gone."""


def _case(scenario: Scenario):
    if scenario.id not in PENDING:
        return pytest.param(scenario, id=scenario.id)
    # Strict, and for this one cause: a pending scenario that passes, or fails otherwise, is a failure.
    mark = pytest.mark.xfail(reason=PENDING[scenario.id], raises=ServiceMissingError, strict=True)
    return pytest.param(scenario, id=scenario.id, marks=mark)


@pytest.mark.parametrize("scenario", [_case(scenario) for scenario in SCENARIOS])
def test_scenario(scenario, caller):
    """The service answers every step of the scenario as the contract's vectors say."""
    run_scenario(scenario, caller)


def test_names_are_unique():
    """No scenario hides another of the same name."""
    names = [scenario.id for scenario in SCENARIOS]
    assert len(names) == len(set(names))


def test_every_suite_is_read():
    """The vectors hold their eleven suites, so that a file that isn't found can't pass for a suite that passed."""
    suites = {scenario.suite for scenario in SCENARIOS}
    assert suites == {
        "history", "lifecycle", "patch", "paths", "profile", "safety", "scope", "search", "tools", "tree", "write",
    }  # fmt: skip


def test_pending_names_exist():
    """The table of pending scenarios names only scenarios that exist."""
    assert set(PENDING) <= {scenario.id for scenario in SCENARIOS}
