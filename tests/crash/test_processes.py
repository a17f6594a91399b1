"""Several server processes on one data directory: no entry is lost, torn, or written twice."""

from __future__ import annotations

import json

from tests.crash.processes import run, start
from tests.store.workbench import Workbench


def _answers(*processes) -> list:
    return [json.loads(line) for process in processes for line in process.communicate(timeout=100)[0].splitlines()]


def test_two_processes_append_to_one_document(tmp_path):
    """2 x 200 appends at the same time are 400 whole lines, each once, and each writer's in its order."""
    Workbench(tmp_path / "data")
    answers = _answers(*(start(tmp_path / "data", ["append_many", "log.md", name, 200]) for name in ("left", "right")))
    assert answers == [{"ack": 200}, {"ack": 200}]
    bench = Workbench(tmp_path / "data")
    lines = bench.read("log.md").decode().splitlines()
    assert len(lines) == 400
    for name in ("left", "right"):
        mine = [line for line in lines if line.startswith(name + " ")]
        assert mine == [f"{name} {number} " + "x" * (number % 50) for number in range(200)]
    assert bench.versions("log.md") == list(range(399, 0, -1))
    assert bench.version("log.md", 399).decode().splitlines() == lines[:-1]


def test_two_processes_send_the_same_requests(tmp_path):
    """When both send the same 60 requests, each entry is written by one of them."""
    Workbench(tmp_path / "data")
    answers = _answers(*(start(tmp_path / "data", ["append_same", "log.md", "entry\n", 60]) for _ in range(2)))
    assert sum(answer["ack"] for answer in answers) == 60
    assert Workbench(tmp_path / "data").read("log.md") == b"entry\n" * 60


def test_the_locale_does_not_matter(tmp_path):
    """Under `LC_ALL=C`, names and texts of any script are the same files."""
    before = ["env", "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0"]
    outcome = run(
        tmp_path / "data",
        ["append", "заметки/привет →.md", "чай\n", "запрос", {"ключ": "значение"}],
        ["names"],
        ["read", "заметки/привет →.md"],
        before=before,
    )
    assert [answer["ack"] for answer in outcome.answers[1:]] == [["заметки/привет →.md"], "чай\n"]
    bench = Workbench(tmp_path / "data")
    assert bench.read("заметки/привет →.md") == "чай\n".encode()
    assert bench.names() == ["заметки/привет →.md"]
