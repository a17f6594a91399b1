"""Short ways to call the lifecycle service in tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.caller import PACKAGE, Caller
from tests.server_process import ServerProcess

LIFECYCLE = f"{PACKAGE}.MemoryLifecycleService"
ROLE_USER = "MESSAGE_ROLE_USER"


def lifecycle(caller: Caller, rpc: str, request_id: str | None = None, /, **request: Any) -> dict[str, Any]:
    """Make a call."""
    return caller.call(f"{LIFECYCLE}/{rpc}", request, request_id=request_id)


def retrieve(caller: Caller, query: str, most: int = 50, **request: Any) -> dict[str, Any]:
    """Return the context for a query."""
    return lifecycle(caller, "RetrieveContext", query=query, max_snippets=most, **request)


def long_term(caller: Caller, query: str, most: int = 50) -> list[tuple[str, str]]:
    """Return path and text of the long-term lane."""
    answer = lifecycle(caller, "ReadLongTerm", query=query, max_snippets=most)
    return [(snippet["relative_path"], snippet["text"]) for snippet in answer["snippets"]]


def short_term(caller: Caller, query: str, most: int = 50) -> list[tuple[str, str]]:
    """Return path and text of the short-term lane."""
    answer = lifecycle(caller, "ReadShortTerm", query=query, max_snippets=most)
    return [(snippet["relative_path"], snippet["text"]) for snippet in answer["snippets"]]


def record(
    caller: Caller, run: str | int, *texts: str, request_id: str | None = None, **request: Any
) -> dict[str, Any]:
    """Record a run in which the user said `texts`."""
    messages = [{"role": ROLE_USER, "content": text} for text in texts or ("hello",)]
    return lifecycle(caller, "RecordInteraction", request_id, turn_run_id=f"run-{run}", messages=messages, **request)


def claim(caller: Caller, request_id: str | None = None, **request: Any) -> dict[str, Any]:
    """Claim the curation."""
    return lifecycle(caller, "ClaimCuration", request_id, **request)


def complete(caller: Caller, lease: str, content: str | None = None, **request: Any) -> str:
    """End a claim; return the outcome's name."""
    text = {} if content is None else {"content": content}
    outcome = lifecycle(caller, "CompleteCuration", lease_id=lease, **text, **request)["outcome"]
    return outcome.removeprefix("CURATION_OUTCOME_")


def events(server: ServerProcess, caller: Caller) -> list[dict[str, Any]]:
    """Return the safety events of the caller's tenant, as they stand in the files."""
    files = sorted(Path(server.data_dir, "events").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    findings = [line for line in lines if "policy_version" in line]
    return [line for line in findings if line["scope"]["tenant"] == caller.scope["tenant"]]
