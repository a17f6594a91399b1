"""Short ways to use a real store in tests: one scope, paths as text, changes as bytes or functions of bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.document import Before, Change, Committed, RequestKey
from ironclaw_memory.contract.path import parse_document_path
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import DocumentStore, StoreLimits, open_data_dir

SCOPE = Scope("acme", "ada", None, "notes")
Content = bytes | None | Callable[[bytes | None], bytes | None]


class Workbench:
    """A store on a data directory of its own, and the folder in which its one scope lies."""

    def __init__(self, folder: Path, limits: StoreLimits | None = None, **options: Any) -> None:
        self.data_dir = open_data_dir(folder)
        self.store = DocumentStore(self.data_dir, limits or StoreLimits(), **options)
        self.scope = SCOPE
        self.root = folder / "tenants/acme/users/ada/agents/_none/projects/notes"
        self.documents = self.root / "documents"

    def put(
        self, path: str, content: Content, *, seconds: float = 20, request: RequestKey | None = None, **change: Any
    ) -> Committed:
        """Make `content` the document, or what it makes of the bytes that are there."""

        def decide(before: Before) -> Change:
            return Change(content(before.content) if callable(content) else content, **change)

        return self.decide(path, decide, seconds=seconds, request=request)

    def decide(
        self,
        path: str,
        decide: Callable[[Before], Change],
        *,
        seconds: float = 20,
        request: RequestKey | None = None,
    ) -> Committed:
        """Change a document by a function of what is there."""
        parsed = parse_document_path(path)
        return self.store.change_document(self.scope, parsed, decide, deadline=Deadline.after(seconds), request=request)

    def append(self, path: str, entry: bytes, **options: Any) -> Committed:
        """Add bytes to the end."""
        return self.put(path, lambda content: (content or b"") + entry, **options)

    def read(self, path: str) -> bytes:
        """Return the bytes."""
        return self.store.read_document(self.scope, parse_document_path(path)).content

    def versions(self, path: str) -> list[int]:
        """Return the numbers of the kept versions, newest first."""
        return [info.version for info in self.store.list_versions(self.scope, parse_document_path(path))]

    def version(self, path: str, number: int) -> bytes:
        """Return the content of a version."""
        return self.store.read_version(self.scope, parse_document_path(path), number)

    def names(self) -> list[str]:
        """Return the paths that the store lists."""
        return [found.path.text for found in self.store.list_documents(self.scope)]

    def files(self) -> list[str]:
        """Every file under `documents/`, temporaries and all, as a person would see them."""
        return sorted(str(file.relative_to(self.documents)) for file in self.documents.rglob("*") if file.is_file())

    def log_file(self) -> Path:
        """The only version log of the scope."""
        (file,) = (self.root / "history").glob("*.log")
        return file


def request(number: int, fingerprint: str = "f") -> RequestKey:
    """A request id, and the fingerprint of its arguments."""
    return RequestKey(f"request-{number}", fingerprint * 64)


def next_tick(folder: Path) -> None:
    """Return when the file system's clock has moved on: what changes from now on has a time of its own."""
    probe = folder / ".tick"
    probe.write_bytes(b"")
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        probe.write_bytes(b"x")
    probe.unlink()
