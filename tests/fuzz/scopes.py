"""Two scope ids never share a folder name, on any file system, and a name never leads elsewhere."""

from collections.abc import Iterator

from ironclaw_memory.contract.faults import ScopeInvalid
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store.layout import encode_id, scope_names


def seeds() -> Iterator[bytes]:
    """Yield what to begin with: two ids apart by a slash, which no id can hold."""
    yield from (
        b"ada/Ada",
        b"con/CON",
        b"_none/none",
        b"a./a",
        b"~x/x",
        b"%41/A",
        b"\xc3\xa9/e\xcc\x81",
        b"a" * 300 + b"/b",
    )


def check(data: bytes) -> None:
    """Read the bytes as two ids."""
    one, _, other = data.decode("utf-8", "surrogateescape").partition("/")
    try:
        scopes = Scope(one, "u", other), Scope(other, "u", one)
    except ScopeInvalid:
        return
    names = encode_id(one), encode_id(other)
    for name in names:
        assert 1 <= len(name) <= 200
        assert name.isascii()
        assert name[:1] not in b"._"
        assert not set(name) & set(b"/\\:\0")
    if one != other:
        assert names[0].lower() != names[1].lower()
        assert scope_names(scopes[0]) != scope_names(scopes[1])
