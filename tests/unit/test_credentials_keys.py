"""API keys: their text, their file, and proving one."""

from __future__ import annotations

import itertools
import json
import stat
import threading

import pytest

from ironclaw_memory.contract.grant import parse_grant
from ironclaw_memory.credentials.authenticator import LOOKING_SECONDS, Authenticator, Missing, Presented
from ironclaw_memory.credentials.key_file import KeyState, key_file, read_keys
from ironclaw_memory.credentials.key_ring import KeyRing
from ironclaw_memory.credentials.key_text import digest_of, id_of, make_key
from ironclaw_memory.credentials.keys import KeyCabinet
from ironclaw_memory.credentials.last_use import read_last_use
from ironclaw_memory.credentials.problem import CredentialsError, Refused
from ironclaw_memory.safety.secrets import find_secrets

GRANT = parse_grant({"tenant": "acme", "users": "any", "permissions": ["read"]})
START = 1_800_000_000


class Clock:
    """A time that a test sets."""

    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cabinet(tmp_path, clock):
    return KeyCabinet(tmp_path, clock)


@pytest.fixture
def ring(tmp_path, clock):
    ring = KeyRing(tmp_path, clock)
    yield ring
    ring.close()


def why_refused(ring, key):
    with pytest.raises(Refused) as caught:
        ring.prove(key)
    return caught.value.why


# ------------------------------------------------------------------------------------------------------------- text


def test_keys_differ_and_carry_their_id():
    """No two keys are the same, and each tells its id."""
    keys = {make_key() for _ in range(200)}
    assert len({id_of(key) for key in keys}) == 200
    assert all(key.startswith(f"icm_{id_of(key)}_") for key in keys)


def test_a_mistake_anywhere_in_a_key_is_seen_without_a_file():
    """Changing, dropping or adding a character makes it no key at all."""
    key = make_key()
    for place in range(4, len(key)):
        if key[place] != "_":
            other = "a" if key[place] != "a" else "b"
            assert id_of(key[:place] + other + key[place + 1 :]) is None
        assert id_of(key[:place] + key[place + 1 :]) is None
    assert id_of(key + "0") is None
    assert id_of(key + "\n") is None
    assert id_of(key) is not None


def test_our_own_scanner_finds_our_own_keys():
    """A key that gets into a document is taken for the secret that it is."""
    assert all("ironclaw-memory-key" in find_secrets(f"the key is {make_key()}, keep it") for _ in range(50))


# ------------------------------------------------------------------------------------------------------------- file


def test_only_a_hash_is_kept_and_nobody_else_may_read_it(cabinet, tmp_path):
    """Neither the key nor its secret is in the folder; file and folder are closed to others."""
    made = cabinet.create("host", GRANT, 60)
    file = key_file(tmp_path)
    kept = file.read_text()
    assert digest_of(made.key) in kept
    assert made.key not in kept
    assert made.key.split("_")[2] not in kept
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_makers_side_by_side_lose_no_key(tmp_path):
    """Several processes may make keys at once; the lock keeps every one of them."""
    threads = [threading.Thread(target=KeyCabinet(tmp_path).create, args=(str(n), GRANT, 60)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {record.name for record in read_keys(tmp_path).values()} == {str(n) for n in range(8)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": 2, "keys": []}',
        b'{"format": 1, "keys": [{}]}',
        b'{"format": 1, "keys": 1}',
        b"\xff",
    ],
)
def test_a_damaged_file_is_a_problem_and_not_an_empty_list(content, cabinet, tmp_path):
    """A server doesn't start on keys that it can't read, and no command writes over them."""
    cabinet.create("host", GRANT, 60)
    key_file(tmp_path).write_bytes(content)
    with pytest.raises(CredentialsError):
        KeyRing(tmp_path)
    with pytest.raises(CredentialsError):
        cabinet.create("other", GRANT, 60)
    assert key_file(tmp_path).read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"grant": {"tenant": "acme"}},
        {"digest": "x"},
        {"key_id": "../x"},
        {"expires_at": ""},
        {"expires_at": False},
        {"revoked_at": ""},
        {"more": 1},
    ],
)
def test_a_record_that_isn_t_understood_spoils_the_file(change, cabinet, tmp_path):
    """A hand-made mistake is told, instead of a key with an end or a restriction that isn't there."""
    cabinet.create("host", GRANT, 60)
    document = json.loads(key_file(tmp_path).read_bytes())
    document["keys"][0].update(change)
    key_file(tmp_path).write_text(json.dumps(document))
    with pytest.raises(CredentialsError):
        read_keys(tmp_path)


# ---------------------------------------------------------------------------------------------------------- proving


def test_a_key_proves_its_grant_until_it_expires(cabinet, ring, clock):
    """The end counts: at that second the key doesn't work any more."""
    made = cabinet.create("host", GRANT, 60)
    assert ring.prove(made.key).grant == GRANT
    assert ring.prove(made.key).name == f"api_key:{made.record.key_id}"
    clock.now = START + 59
    ring.prove(made.key)
    clock.now = START + 60
    assert why_refused(ring, made.key) == "expired API key"


def test_a_key_without_an_end_works_on(cabinet, ring, clock):
    """`None` is for ever."""
    made = cabinet.create("host", GRANT, None)
    clock.now += 10**9
    assert ring.prove(made.key)


def test_a_revocation_holds_at_the_next_call(cabinet, ring):
    """A ring that is in use sees the file change; a second revocation changes nothing."""
    made = cabinet.create("host", GRANT, 60)
    ring.prove(made.key)
    cabinet.revoke(made.record.key_id)
    assert why_refused(ring, made.key) == "revoked API key"
    cabinet.revoke(made.record.key_id)
    assert why_refused(ring, made.key) == "revoked API key"


def test_each_of_many_quick_revocations_is_seen(cabinet, ring):
    """Changes within one tick of the file system's clock aren't missed."""
    for _ in range(30):
        made = cabinet.create("host", GRANT, 60)
        ring.prove(made.key)
        cabinet.revoke(made.record.key_id)
        assert why_refused(ring, made.key) == "revoked API key"


def test_a_rotated_key_works_for_the_overlap(cabinet, ring, clock):
    """Both keys work for a while, then the new one alone, for as long as the old one was meant to."""
    old = cabinet.create("host", GRANT, 10_000)
    clock.now += 1_000
    new = cabinet.rotate(old.record.key_id, 100)
    assert (new.record.name, new.record.grant) == ("host", GRANT)
    assert new.record.expires_at == clock.now + 10_000
    assert ring.prove(old.key).grant == ring.prove(new.key).grant
    clock.now += 100
    assert why_refused(ring, old.key) == "expired API key"
    assert ring.prove(new.key)


def test_rotation_prolongs_no_key(cabinet, clock, tmp_path):
    """An overlap ends no later than the key would have, and a dead key has no successor."""
    old = cabinet.create("host", GRANT, 60)
    cabinet.rotate(old.record.key_id, 10_000)
    assert read_keys(tmp_path)[old.record.key_id].expires_at == START + 60
    clock.now += 60
    assert read_keys(tmp_path)[old.record.key_id].state(clock.now) is KeyState.EXPIRED
    with pytest.raises(CredentialsError, match="expired"):
        cabinet.rotate(old.record.key_id, 10)
    with pytest.raises(CredentialsError, match="no key"):
        cabinet.rotate("nosuchkey0", 10)


def test_a_key_of_another_folder_is_unknown(ring, tmp_path_factory):
    """A well-formed key that was made elsewhere isn't accepted."""
    other = KeyCabinet(tmp_path_factory.mktemp("other")).create("host", GRANT, None)
    assert why_refused(ring, other.key) == "unknown API key"
    assert why_refused(ring, "icm_x") == "malformed API key"


def test_the_first_key_counts_at_the_next_look(cabinet, ring):
    """A server without keys looks for the first one fifty times a second, not at each call."""
    times = iter([0.0, LOOKING_SECONDS * 0.9, LOOKING_SECONDS])
    authenticator = Authenticator(ring, now=times.__next__)
    assert not authenticator.is_needed()
    cabinet.create("host", GRANT, 60)
    assert not authenticator.is_needed()
    assert authenticator.is_needed()


def test_keys_that_vanish_open_no_door(cabinet, ring, tmp_path):
    """Once there were keys, a process asks for one for ever, and without the file none is accepted."""
    authenticator = Authenticator(ring, now=itertools.count().__next__)  # a second passes between any two looks
    assert authenticator.authenticate(Presented()) is None
    made = cabinet.create("host", GRANT, 60)
    with pytest.raises(Missing):
        authenticator.authenticate(Presented())
    key_file(tmp_path).unlink()
    with pytest.raises(Missing):
        authenticator.authenticate(Presented())
    assert why_refused(ring, made.key) == "unknown API key"


def test_a_broken_change_leaves_the_last_good_list_in_force(cabinet, ring, tmp_path):
    """Half a file neither locks everyone out nor lets a stranger in; the next good one counts again."""
    made = cabinet.create("host", GRANT, None)
    ring.prove(made.key)
    kept = key_file(tmp_path).read_bytes()
    key_file(tmp_path).write_bytes(kept[: len(kept) // 2])
    assert ring.prove(made.key)
    key_file(tmp_path).write_bytes(kept.replace(b'"revoked_at": null', b'"revoked_at": 1'))
    assert why_refused(ring, made.key) == "revoked API key"


@pytest.mark.parametrize(
    "authorization",
    [
        ("Bearer {key}", "Bearer {key}"),
        ("Basic {key}",),
        ("{key}",),
        ("Bearer",),
        ("Bearer ",),
        ("Bearer é{key}",),
        (b"Bearer",),
    ],
    ids=str,
)
def test_only_one_bearer_credential_is_a_credential(authorization, cabinet, ring):
    """Two values, another scheme, no value and foreign characters are all refused."""
    key = cabinet.create("host", GRANT, None).key
    values = tuple(value.format(key=key) if isinstance(value, str) else value for value in authorization)
    with pytest.raises(Refused):
        Authenticator(ring).authenticate(Presented(values))
    assert Authenticator(ring).authenticate(Presented((f"bearer  {key} ",)))


def test_keys_are_refused_where_they_are_off(tmp_path):
    """A server that was told to take none doesn't look at the file."""
    key = KeyCabinet(tmp_path).create("host", GRANT, None).key
    with pytest.raises(Refused, match="off"):
        Authenticator(None, keys_needed=True).authenticate(Presented((f"Bearer {key}",)))


# --------------------------------------------------------------------------------------------------------- last use


def test_last_uses_of_several_processes_are_kept_together(cabinet, tmp_path, clock):
    """Each ring keeps what it saw when it closes; the later use wins."""
    one, two = cabinet.create("one", GRANT, None), cabinet.create("two", GRANT, None)
    rings = [KeyRing(tmp_path, clock), KeyRing(tmp_path, clock)]
    rings[0].prove(one.key)
    clock.now += 1
    rings[1].prove(one.key)
    rings[0].prove(two.key)
    for ring in reversed(rings):
        ring.close()
    assert read_last_use(tmp_path) == {one.record.key_id: START + 1, two.record.key_id: START + 1}


def test_a_last_use_that_can_t_be_kept_disturbs_nobody(cabinet, tmp_path, clock):
    """A folder that can't be locked costs the note, not the call."""
    key = cabinet.create("host", GRANT, None).key
    (tmp_path / "credentials" / "lock").unlink()
    (tmp_path / "credentials" / "lock").mkdir()
    ring = KeyRing(tmp_path, clock)
    assert ring.prove(key)
    ring.close()
    assert read_last_use(tmp_path) == {}
