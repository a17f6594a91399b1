"""A small program that uses the store as a server process does, for tests that kill it, starve it or race it.

    writer.py DATA_DIR STEPS

STEPS is a JSON list; each step is a list of a verb and its arguments. One line of JSON is printed for each step when it
is done: `{"ack": …}` or `{"fault": "ClassName"}`. `begin` and `end` leave marks in a trace of the system calls.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Change, RequestKey
from ironclaw_memory.contract.faults import Fault
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import DocumentStore, StoreLimits, open_data_dir

SCOPE = Scope("acme", "ada", None, "notes")


class Writer:
    """Carries out steps on one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._store = DocumentStore(open_data_dir(data_dir), StoreLimits())

    def _change(self, path: str, content: Callable[[bytes], bytes | None], request: str | None, **change: Any) -> Any:
        key = RequestKey(request, "f" * 64) if request else None
        committed = self._store.change_document(
            SCOPE,
            DocumentPath(path),
            lambda before: Change(content(before.content or b""), **change),
            deadline=Deadline.after(60),
            request=key,
        )
        return {"sha256": committed.sha256, "replayed": committed.replayed}

    def append(self, path: str, entry: str, request: str | None = None, metadata: Any = None) -> Any:
        return self._change(path, lambda content: content + entry.encode(), request, metadata=metadata)

    def replace(self, path: str, content: str, request: str | None = None, metadata: Any = None) -> Any:
        return self._change(path, lambda _: content.encode(), request, metadata=metadata)

    def delete(self, path: str, request: str | None = None) -> Any:
        return self._change(path, lambda _: None, request)

    def append_many(self, path: str, name: str, count: int) -> Any:
        for number in range(count):
            self.append(path, f"{name} {number} " + "x" * (number % 50) + "\n")
        return count

    def entries(self, path: str, count: int) -> Any:
        """Append numbered entries under request ids of their own; `{}` in the path is the number."""
        for number in range(count):
            self.append(path.format(number), f"entry {number}\n", f"id-{number}")
            os.write(1, b'{"ack": %d}\n' % number)

    def append_same(self, path: str, entry: str, count: int) -> Any:
        return sum(not self.append(path, entry, f"same-{number}")["replayed"] for number in range(count))

    def read(self, path: str) -> Any:
        return self._store.read_document(SCOPE, DocumentPath(path)).content.decode()

    def names(self) -> Any:
        return [found.path.text for found in self._store.list_documents(SCOPE)]

    def versions(self, path: str) -> Any:
        return [info.version for info in self._store.list_versions(SCOPE, DocumentPath(path))]

    def problem(self) -> Any:
        return self._store.problem()

    def probe(self) -> Any:
        self._store.probe()

    def usage(self) -> Any:
        return self._store.usage(SCOPE)

    def begin(self) -> Any:
        os.access("/begin", os.F_OK)

    def end(self) -> Any:
        os.access("/end", os.F_OK)

    def fill(self, keep_bytes: int) -> Any:
        """Fill the disk, but for so many bytes."""
        ballast = self._data_dir.parent / "ballast"
        with ballast.open("ab", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                file.truncate(max(0, file.tell() - keep_bytes))

    def empty(self) -> Any:
        (self._data_dir.parent / "ballast").unlink()

    def remount(self, options: str) -> Any:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self._data_dir.parent)], check=True)


def main() -> None:
    """Carry out the steps of the command line."""
    writer = Writer(Path(sys.argv[1]))
    for verb, *arguments in json.loads(sys.argv[2]):
        try:
            answer = {"ack": getattr(writer, verb)(*arguments)}
        except Fault as fault:
            answer = {"fault": type(fault).__name__}
        os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
