"""What a grant says, and what it lets a caller name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.contract.faults import PermissionForbidden, ScopeForbidden
from ironclaw_memory.contract.grant import GrantInvalid, Permission, SourceClass, grant_record, parse_grant

SOME = {"tenant": "acme", "users": ["ann", "bob"], "permissions": ["read", "write"]}


def test_what_is_left_out_is_any_agent_any_project_and_an_agent_s_word():
    """Only agents, projects and the source have defaults; whose memory it is must be said."""
    grant = parse_grant(SOME)
    assert (grant.agents, grant.projects, grant.source) == (None, None, SourceClass.AGENT)
    assert grant.users == {"ann", "bob"}
    assert grant.permissions == {Permission.READ, Permission.WRITE}


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": None},
        {"tenant": "a/b"},
        {"tenant": ["acme"]},
        {"users": None},
        {"users": []},
        {"users": "ann"},
        {"users": ["."]},
        {"users": [1]},
        {"users": {"ann": 1}},
        {"agents": []},
        {"agents": None},
        {"projects": "*"},
        {"permissions": []},
        {"permissions": "read"},
        {"permissions": ["read", "root"]},
        {"permissions": [["read"]]},
        {"source": "god"},
        {"source": ["agent"]},
        {"user": ["ann"]},
        {"Agents": ["coder"]},
    ],
    ids=str,
)
def test_a_grant_that_isn_t_understood_whole_is_no_grant(change):
    """A wrong value, an empty list and a misspelt key are refused: none of them may widen what is allowed."""
    with pytest.raises(GrantInvalid):
        parse_grant({**SOME, **change})


@pytest.mark.parametrize("given_", [None, [], "any", 7, {}])
def test_nothing_but_an_object_is_a_grant(given_):
    """A token's claim can be anything; only an object with the keys is read."""
    with pytest.raises(GrantInvalid):
        parse_grant(given_)


@pytest.mark.parametrize("axis", ["tenant", "users", "permissions"])
def test_whose_memory_and_what_for_must_be_said(axis):
    """No default stands in for the tenant, the users or the permissions."""
    with pytest.raises(GrantInvalid, match=axis):
        parse_grant({key: value for key, value in SOME.items() if key != axis})


def test_an_id_in_a_list_is_itself_and_never_a_wildcard():
    """A user who calls himself `any` or `*` is one user."""
    for name in ("any", "*"):
        grant = parse_grant({**SOME, "users": [name]})
        with pytest.raises(ScopeForbidden):
            grant.confine(("acme", "ann", None, None))
        assert grant.confine(("acme", name, None, None))[1] == name


PINNED = {**SOME, "users": ["ann"], "agents": ["coder"], "projects": ["_none"]}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ((None, None, None, None), ("acme", "ann", "coder", None)),
        (("acme", "ann", "coder", None), ("acme", "ann", "coder", None)),
        (("umbra", None, None, None), None),
        ((None, "bob", None, None), None),
        ((None, None, "writer", None), None),
        ((None, None, None, "apollo"), None),
    ],
    ids=str,
)
def test_a_pinned_axis_is_filled_or_refused(asked, meant):
    """What the grant pins may be left out and may not differ; `_none` pins the absence."""
    grant = parse_grant(PINNED)
    if meant is None:
        with pytest.raises(ScopeForbidden):
            grant.confine(asked)
    else:
        assert grant.confine(asked) == meant


def test_among_several_ids_none_is_guessed():
    """Where a list has several, leaving the agent out means no agent, which must be allowed; a user stays unsaid."""
    grant = parse_grant({**SOME, "agents": ["coder", "writer"]})
    with pytest.raises(ScopeForbidden):
        grant.confine(("acme", "ann", None, None))
    assert grant.confine(("acme", None, "coder", None)) == ("acme", None, "coder", None)
    with_none = parse_grant({**SOME, "agents": ["coder", "_none"]})
    assert with_none.confine(("acme", "ann", None, None)) == ("acme", "ann", None, None)


def test_permissions_imply_nothing():
    """`admin` doesn't read and `write` doesn't read back."""
    grant = parse_grant({**SOME, "permissions": ["admin", "write"]})
    grant.require(Permission.ADMIN, Permission.WRITE)
    with pytest.raises(PermissionForbidden) as caught:
        grant.require(Permission.WRITE, Permission.READ)
    assert caught.value.details == {"permission": "read"}


IDS = st.one_of(st.just("any"), st.lists(st.sampled_from(["ann", "_none", "any", "*", "茶"]), min_size=1))


@given(IDS, IDS, IDS, st.sets(st.sampled_from(list(Permission)), min_size=1), st.sampled_from(list(SourceClass)))
def test_a_grant_comes_back_from_its_record(users, agents, projects, permissions, source):
    """What is kept in a file is read as the same grant."""
    described = {"users": users, "agents": agents, "projects": projects, "source": source.value}
    grant = parse_grant({"tenant": "acme", "permissions": [p.value for p in permissions], **described})
    assert parse_grant(grant_record(grant)) == grant
