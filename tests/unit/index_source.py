"""A document source over plain files, and an index on it: what the index tests stand on instead of the whole store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ironclaw_memory.contract.document import DocumentStat, Metadata, StoredDocument
from ironclaw_memory.contract.faults import DocumentMissing, StorageUnavailable
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index import IndexSettings, SearchAnswer, SearchIndex, SearchQuery
from ironclaw_memory.index.meaning import MeaningModel

ALICE = Scope("acme", "alice")


class Clock:
    """A monotonic clock that stands still until it is told to move on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class FileSource:
    """Documents under `root/<user>/documents`; metadata is kept in memory, inherited as the store inherits it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.metadata: dict[str, dict[str, Any]] = {}
        self.unreadable: set[str] = set()
        self.reads = 0

    def folder(self, scope: Scope) -> Path:
        return self.root / scope.user / "documents"

    def list_documents(self, scope: Scope) -> Iterator[DocumentStat]:
        base = self.folder(scope)
        for folder, _, names in os.walk(base):
            for name in names:
                file = Path(folder, name)
                stat = file.stat()
                path = DocumentPath(file.relative_to(base).as_posix())
                yield DocumentStat(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def read_document(self, scope: Scope, path: DocumentPath) -> StoredDocument:
        self.reads += 1
        if path.text in self.unreadable:
            raise StorageUnavailable
        file = self.folder(scope) / path.text
        try:
            content, modified = file.read_bytes(), file.stat().st_mtime
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise DocumentMissing from None
        return StoredDocument(content, hashlib.sha256(content).hexdigest(), 0, datetime.fromtimestamp(modified, UTC))

    def effective_metadata(self, scope: Scope, path: DocumentPath) -> Metadata:
        folder = path.text
        while folder:
            folder = folder.rpartition("/")[0]
            inherited = self.metadata.get(f"{folder}/.config" if folder else ".config")
            if inherited is not None:
                return inherited | self.metadata.get(path.text, {})
        return self.metadata.get(path.text, {})

    def index_folder(self, scope: Scope) -> Path:
        folder = self.root / scope.user / "index"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder


class Memory:
    """One user's documents and an index on them, without its background thread unless asked for."""

    def __init__(
        self,
        root: Path,
        model: MeaningModel | None = None,
        monotonic: Callable[[], float] | None = None,
        **settings: Any,
    ) -> None:
        self.source = FileSource(root)
        self.clock = Clock()
        chosen = {"background_seconds": 0, "build_wait_seconds": 30, "semantic": "off"} | settings
        self.index = SearchIndex(self.source, IndexSettings(**chosen), monotonic=monotonic or self.clock, model=model)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.index.close()

    def file(self, path: str) -> Path:
        return self.source.folder(ALICE) / path

    def edit(self, path: str, content: str | bytes) -> None:
        """Put content into a file as a person would: the index isn't told."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def write(self, path: str, content: str | bytes) -> None:
        """Put content into a file as the store does: the index is told."""
        self.edit(path, content)
        self.note(path)

    def delete(self, path: str) -> None:
        self.file(path).unlink()
        self.note(path)

    def note(self, path: str) -> None:
        self.index.note_changed(ALICE, DocumentPath(path))

    def search(self, text: str, **options: Any) -> SearchAnswer:
        return self.index.search(ALICE, SearchQuery(text, **options))

    def paths(self, text: str, **options: Any) -> list[str]:
        """Return the paths that a search finds, best first."""
        return [hit.path.text for hit in self.search(text, **options).hits]

    def index_files(self) -> list[Path]:
        return sorted(self.source.index_folder(ALICE).iterdir())
