"""A path is refused with `InvalidPath`, or it stays within its scope and means the same when it is read again."""

from collections.abc import Iterator
from contextlib import suppress

from ironclaw_memory.contract.faults import InvalidPath
from ironclaw_memory.contract.path import MAX_PATH_BYTES, MAX_SEGMENT_BYTES, parse_document_path, parse_folder_path
from ironclaw_memory.store.layout import document_names


def seeds() -> Iterator[bytes]:
    """Yield what to begin with."""
    yield from (b"MEMORY.md", b"notes/a/b.md", b"../x", b"~/x", b"C:\\x", b"a//b", b"caf\xc3\xa9.md", b"threads/t/1.md")


def check(data: bytes) -> None:
    """Read the bytes as a path."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(InvalidPath):
        parse_folder_path(text)
    try:
        path = parse_document_path(text)
    except InvalidPath:
        return
    assert parse_document_path(path.text) == path
    names = document_names(path)
    assert len(path.text.encode()) <= MAX_PATH_BYTES
    for name in names:
        assert 1 <= len(name) <= MAX_SEGMENT_BYTES
        assert name not in (b".", b"..")
        assert b"/" not in name
        assert b"\0" not in name
