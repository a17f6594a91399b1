"""A tenant's quota: all its scopes count together, by whichever process, and what is deleted makes room."""

from __future__ import annotations

import threading

import pytest

from ironclaw_memory.contract.faults import ScopeQuota
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.store import StoreLimits
from ironclaw_memory.store.tenant_usage import RECOUNT_SECONDS, TenantUsage
from tests.store.workbench import SCOPE, Workbench

BOB = Scope("acme", "bob")
OTHER = Scope("umbra", "ada")


def bench(folder, scope=SCOPE, **limits):
    """Return a store of its own on a folder, as another process would have, that works in a scope."""
    made = Workbench(folder, StoreLimits(**limits))
    made.scope = scope
    return made


def refused(work, path, content):
    with pytest.raises(ScopeQuota) as caught:
        work.put(path, content)
    return caught.value.details["quota"]


def test_all_scopes_of_a_tenant_count_together(tmp_path):
    """Two users share the tenant's documents, through two processes; another tenant has its own."""
    ada, bob, other = (bench(tmp_path, scope, tenant_documents=3) for scope in (SCOPE, BOB, OTHER))
    ada.put("a", b"1")
    bob.put("b", b"1")
    ada.put("c", b"1")
    assert refused(bob, "d", b"1") == "tenant_documents"
    assert refused(ada, "d", b"1") == "tenant_documents"
    other.put("d", b"1")
    bob.put("b", b"changed")
    assert bob.names() == ["b"]


def test_bytes_count_too_and_shrinking_always_passes(tmp_path):
    """A tenant over its limit, because that was lowered, may still make things smaller."""
    bench(tmp_path).put("a", b"x" * 100)
    ada, bob = (bench(tmp_path, scope, tenant_bytes=60) for scope in (SCOPE, BOB))
    assert refused(bob, "b", b"y") == "tenant_bytes"
    ada.put("a", b"x" * 50)
    bob.put("b", b"y" * 10)
    assert refused(ada, "a", b"x" * 51) == "tenant_bytes"
    assert ada.read("a") == b"x" * 50


def test_a_deletion_makes_room(tmp_path):
    """What one user deletes, another may store at once."""
    ada, bob = (bench(tmp_path, scope, tenant_documents=1) for scope in (SCOPE, BOB))
    ada.put("a", b"1")
    assert refused(bob, "b", b"1")
    ada.put("a", None)
    bob.put("b", b"1")
    assert refused(ada, "a", b"1")


def test_a_refused_change_takes_no_room(tmp_path):
    """Neither the scope's tally nor the tenant's keeps what wasn't stored, also where the scope's limit refused."""
    ada = bench(tmp_path, tenant_documents=2, tenant_bytes=100, scope_documents=1)
    bob = bench(tmp_path, BOB, tenant_documents=2, tenant_bytes=100)
    ada.put("a", b"1")
    for _ in range(5):
        assert refused(ada, "b", b"1") == "documents"
        assert refused(bob, "b", b"x" * 100) == "tenant_bytes"
    bob.put("b", b"x" * 99)
    assert ada.store.usage(SCOPE) == (1, 1)


def test_what_was_there_before_there_was_a_quota_counts(tmp_path):
    """A quota that is set later counts what was written without one, and so does each new process."""
    ada = bench(tmp_path, tenant_documents=10)
    ada.put("a", b"1")
    plain = bench(tmp_path, BOB)
    for name in "bcdefghij":
        plain.put(name, b"1")
    assert refused(bench(tmp_path, tenant_documents=10), "k", b"1")


def test_a_damaged_or_lost_tally_is_counted_afresh(tmp_path):
    """It is derived: nothing depends on it but speed."""
    ada = bench(tmp_path, tenant_documents=2)
    ada.put("a", b"1")
    tally = tmp_path / "tenants/acme/usage"
    for spoil in (lambda: tally.write_bytes(b"nonsense"), tally.unlink):
        spoil()
        ada.put("b", b"1")
        assert refused(ada, "c", b"1")
        ada.put("b", None)


def test_a_tenant_at_its_limit_is_counted_again_now_and_then(tmp_path):
    """Documents that were removed by hand make room after a few seconds, not at every refusal."""
    ada = bench(tmp_path)
    ada.put("a", b"1")
    now = [0.0]
    usage = TenantUsage(bytes(tmp_path), (1, 0), lambda: now[0])
    usage.take(SCOPE, (1, 0))  # in the scope's tally already
    (tmp_path / "tenants/acme/users/ada/agents/_none/projects/notes/documents/a").unlink()
    ada.store.usage(SCOPE)
    with pytest.raises(ScopeQuota):
        usage.take(SCOPE, (1, 0))
    now[0] += RECOUNT_SECONDS
    usage.take(SCOPE, (1, 0))


def test_writers_side_by_side_don_t_pass_the_limit_together(tmp_path):
    """Eight writers in eight stores, forty tries: never more than ten get in, the limit being ten.

    Fewer may, for a tally that another is counting meanwhile can be too high for a moment.
    """
    scopes = [Scope("acme", f"user-{n}") for n in range(4)]
    benches = [bench(tmp_path, scope, tenant_documents=10) for scope in scopes for _ in range(2)]
    stored = []

    def write(work, number):
        for place in range(5):
            try:
                work.put(f"{number}-{place}", b"1")
            except ScopeQuota:
                continue
            stored.append(1)

    threads = [threading.Thread(target=write, args=(work, n)) for n, work in enumerate(benches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(stored) <= 10
