"""The README is run as it stands: its examples against a real server, its tables against the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ironclaw_memory_client
from ironclaw_memory_client import CallOptions, MemoryClient, MemoryServiceError
from ironclaw_memory_client.failure import BY_REASON

HERE = Path(__file__).resolve().parent.parent
README = (HERE / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(3))
def test_an_example_prints_what_the_readme_says(number, service, capsys):
    """Each example that shows its output runs unchanged but for the address, and prints that."""
    code, expected = EXAMPLES[number]
    exec(compile(code.replace("127.0.0.1:50051", service), "README.md", "exec"), {})  # noqa: S102  # our own page
    assert capsys.readouterr().out == expected


def test_no_example_is_left_out():
    """The three examples with output are all found by the pattern above; the fourth needs certificates."""
    assert len(EXAMPLES) == 3
    assert README.count("```python") == 4


def test_the_example_file_runs(service):
    """`examples/agent_loop.py` runs turn after turn; what the first one stored is the context of the second."""
    command = [sys.executable, str(HERE / "examples" / "agent_loop.py"), service]
    first, second = (
        subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env={"PYTHONPATH": ":".join(sys.path)}
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first == [
        "tools: 5",
        "context: 0 snippets",
        "ironclaw_memory_write: ok",
        "ironclaw_memory_search: ok",
        "recorded: True, curation due: False",
        "Noted: no peanuts. How about a mushroom risotto?",
    ]
    assert int(second[1].split()[1]) >= 2, "the standing document and what was said before"


def test_the_error_table_is_the_codes():
    """Each reason stands in the row of the class that it is raised as, and every class of the table exists."""
    rows = re.findall(r"^\| `(\w+Error)`[^|]*\| ([^|]+) \|$", README, re.MULTILINE)
    table = {reason: name for name, reasons in rows for reason in re.findall(r"`(\w+)`", reasons)}
    assert table == {reason: cls.__name__ for reason, cls in BY_REASON.items()}
    assert all(issubclass(getattr(ironclaw_memory_client, name), MemoryServiceError) for name, _ in rows)


def test_every_method_and_option_is_in_the_readme():
    """No public method and no call option is undocumented."""
    names = {name for name in vars(MemoryClient) if not name.startswith("_")} - {"close", "scope"}
    rows = "\n".join(re.findall(r"^\| `.*$", README, re.MULTILINE))
    assert {name for name in names if f"`{name}`" not in rows} == {"with_scope"}
    assert {name for name in CallOptions.__annotations__ if f"| `{name}` |" not in rows} == set()
    assert "client.with_scope(" in README
