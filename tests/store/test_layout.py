"""Folder names of scopes: never shared, legal on every file system, readable when the id is ordinary."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.contract.faults import ScopeInvalid
from ironclaw_memory.contract.scope import Scope, check_segment
from ironclaw_memory.store.layout import MAX_ID_NAME_BYTES, encode_id, scope_names


def _is_id(text: str) -> bool:
    try:
        check_segment(text, "user")
    except ScopeInvalid:
        return False
    return True


# Letters that collide under case folding, normal forms, device names and the encoding's own marks come up often.
_TRICKY = st.text(st.sampled_from("aAbé\u0301eE%~._-@+41Cc conulpx1ſKK"), min_size=1, max_size=8)
IDS = st.one_of(_TRICKY, st.text(min_size=1, max_size=80)).filter(_is_id)


@given(IDS, IDS)
def test_two_ids_never_share_a_name_even_where_case_is_ignored(left, right):
    """Different ids have names that differ by more than case."""
    if left != right:
        assert encode_id(left).lower() != encode_id(right).lower()


@given(IDS)
def test_names_are_legal_everywhere(value):
    """A name is short ASCII that no common file system refuses or treats specially."""
    name = encode_id(value).decode("ascii")
    assert re.fullmatch(r"[a-z0-9%~][a-zA-F0-9._@+%-]*", name)
    assert len(name) <= MAX_ID_NAME_BYTES
    assert not name.endswith((".", " "))
    assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", name)
    assert name != "_none"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("acme", "acme"),
        ("ada@example.com", "ada@example.com"),
        ("u_1-b+c", "u_1-b+c"),
        ("Ada", "%41da"),
        ("_none", "%5Fnone"),
        (".git", "%2Egit"),
        ("con", "%63on"),
        ("com1.txt", "%63om1.txt"),
        ("console", "console"),
        ("v1.", "v1%2E"),
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ("é", "%C3%A9"),
        ("e\u0301", "e%CC%81"),
        ("~x", "%7Ex"),
    ],
)
def test_ordinary_ids_stay_readable_and_others_are_escaped(value, name):
    """The table of the encoding: these names are on users' disks and may never change."""
    assert encode_id(value).decode("ascii") == name


def test_long_ids_are_hashed():
    """An id whose escaped form is too long for a file system has a hashed name, of its own."""
    names = {encode_id("é" * 100 + str(each)) for each in range(20)}
    assert len(names) == 20
    assert all(name.startswith(b"~") and len(name) == 65 for name in names)


def test_absent_axes_are_scopes_of_their_own():
    """No agent is not an agent called like the marker, and not any agent."""
    assert scope_names(Scope("t", "u"))[-3:] == (b"_none", b"projects", b"_none")
    tenant_like_marker = scope_names(Scope("_none", "_none"))
    assert tenant_like_marker[1] == b"%5Fnone"


@given(st.tuples(IDS, IDS, IDS, IDS), st.tuples(IDS, IDS, IDS, IDS))
def test_scopes_that_differ_on_any_axis_have_different_folders(left, right):
    """However ids are cut and joined, two scopes never meet in a folder."""
    if left != right and "_none" not in (*left[2:], *right[2:]):
        assert scope_names(Scope(*left)) != scope_names(Scope(*right))
