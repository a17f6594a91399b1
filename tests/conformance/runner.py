"""Runs the scenarios of `vectors/` against a server, over the wire, as any client would."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tests.caller import Caller, Refusal, ServiceMissingError, ToolRefusal
from tests.conformance.matching import Mismatch, match

VECTORS = Path(__file__).parent / "vectors"
TREE = "ironclaw.memory.tree"
_PLACEHOLDER = re.compile(r"\$\{(?P<name>[^}]+)\}")
_STEP_KEYS = {"tool", "arguments", "output", "error", "rpc", "request", "response", "status", "reason", "as", "save"}


@dataclass(frozen=True)
class Scenario:
    """A scenario as the file has it, with the name of its suite."""

    suite: str
    name: str
    steps: tuple[Mapping[str, Any], ...]
    thread: str | None = None

    @property
    def id(self) -> str:
        """The name by which it is reported and listed."""
        return f"{self.suite}/{self.name}"

    @property
    def zones(self) -> frozenset[str]:
        """The zones whose date the scenario speaks of."""
        return frozenset(re.findall(r"\$\{today:([^}]+)\}", json.dumps(self.steps)))


def load_scenarios(folder: Path = VECTORS) -> Iterator[Scenario]:
    """Yield the scenarios of every suite, in the order of the files' names."""
    for file in sorted(folder.glob("*.json")):
        suite = json.loads(file.read_text(encoding="utf-8"))
        for entry in suite["scenarios"]:
            yield Scenario(suite["suite"], entry["name"], tuple(entry["steps"]), entry.get("thread"))


@dataclass
class Values:
    """What placeholders stand for while a scenario runs."""

    saved: dict[str, str] = field(default_factory=dict)

    def resolve(self, value: Any) -> Any:
        """Return `value` with placeholders and long texts written out.

        Raises:
            Mismatch: a placeholder names nothing that was saved.
        """
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: self._stands_for(found["name"]), value)
        if isinstance(value, list):
            return [self.resolve(element) for element in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return self.resolve(text) * times
        if set(value) == {"$join"}:
            return "".join(self.resolve(value["$join"]))
        return {key: self.resolve(inner) for key, inner in value.items()}

    def _stands_for(self, name: str) -> str:
        if name.startswith("today:"):
            return today(name.removeprefix("today:"))
        if name not in self.saved:
            raise Mismatch(f"no earlier step saved '{name}'")
        return self.saved[name]


def today(zone: str) -> str:
    """Return the date in `zone` now, as the daily log is named."""
    return datetime.now(ZoneInfo(zone)).date().isoformat()


def run_scenario(scenario: Scenario, caller: Caller) -> None:
    """Run one scenario in the caller's tenant, which nobody else may use.

    A mismatch while the date changes in a zone that the scenario speaks of proves nothing: it is run once more.

    Raises:
        Mismatch: an answer isn't what the vectors expect; the message names the step.
        ServiceMissingError: a step needs a service that isn't there.
    """
    dates = {zone: today(zone) for zone in scenario.zones}
    try:
        _run(scenario, caller, "")
    except Mismatch:
        if dates == {zone: today(zone) for zone in scenario.zones}:
            raise
        _run(scenario, caller, "-next-day")


def _run(scenario: Scenario, caller: Caller, suffix: str) -> None:
    values = Values()
    tenant = f"{caller.scope['tenant']}{suffix}"
    for number, step in enumerate(scenario.steps, start=1):
        try:
            _check_keys(step)
            _run_step(step, caller.within(**_scope(step, tenant, scenario.thread)), values)
        except Mismatch as mismatch:
            raise Mismatch(f"step {number} ({step.get('tool') or step.get('rpc')}): {mismatch}") from None


def _check_keys(step: Mapping[str, Any]) -> None:
    # A misspelt key would make a step that checks nothing.
    if unknown := set(step) - _STEP_KEYS:
        raise Mismatch(f"the step has keys that nobody knows: {sorted(unknown)}")


def _scope(step: Mapping[str, Any], tenant: str, thread: str | None) -> dict[str, str | None]:
    scope: dict[str, str | None] = {"tenant": tenant, "user": "alice", "thread": thread, **step.get("as", {})}
    if step.get("as", {}).get("tenant"):
        scope["tenant"] = f"{tenant}-{scope['tenant']}"
    return scope


def _run_step(step: Mapping[str, Any], caller: Caller, values: Values) -> None:
    if "tool" in step:
        _run_tool_step(step, caller, values)
    else:
        _run_rpc_step(step, caller, values)


def _run_tool_step(step: Mapping[str, Any], caller: Caller, values: Values) -> None:
    arguments = json.dumps(values.resolve(step["arguments"]), ensure_ascii=False)
    try:
        output = caller.invoke(step["tool"], arguments)
    except ToolRefusal as refusal:
        match(step.get("error", "no error"), {"kind": refusal.kind, "reason": refusal.reason}, where="error")
        return
    except Refusal as refusal:
        raise Mismatch(f"the call itself failed: {refusal.code} {refusal.reason} {refusal.message}") from None
    if "error" in step:
        raise Mismatch(f"expected the error {step['error']}, got the output {output}")
    if "output" in step:
        _match_output(step, output, values)


def _match_output(step: Mapping[str, Any], output: Any, values: Values) -> None:
    expected = values.resolve(step["output"])
    if step["tool"] == TREE and expected != output:
        raise Mismatch(f"expected exactly {expected}, got {output}")
    match(expected, output, where="output")


def _run_rpc_step(step: Mapping[str, Any], caller: Caller, values: Values) -> None:
    try:
        response = caller.call(step["rpc"], values.resolve(step["request"]))
    except Refusal as refusal:
        if refusal.code == "UNIMPLEMENTED":
            raise ServiceMissingError(step["rpc"]) from None
        wanted = {"status": step.get("status", "OK"), "reason": step.get("reason", "")}
        match(wanted, {"status": refusal.code, "reason": refusal.reason}, where="status")
        return
    if "status" in step:
        raise Mismatch(f"expected {step['status']} {step['reason']}, got the response {response}")
    match(values.resolve(step.get("response", {})), response, where="response", absent_is_default=True)
    for name, key in step.get("save", {}).items():
        values.saved[name] = response[key]
