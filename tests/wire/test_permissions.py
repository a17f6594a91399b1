"""The matrix: every RPC, from the descriptors, by every way of not being allowed to call it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from ironclaw_memory.interceptors.permissions import PERMISSIONS, check_table
from ironclaw_memory.server import SCOPED
from tests.caller import METHODS, Refusal, ToolRefusal
from tests.server_process import ServerProcess, run_server, wait_until
from tests.wire.credentials import EVERYTHING, BearerCaller, TokenIssuer, keys_command, make_key, new_signing_key
from tests.wire.refusals import check_form, check_silence, refused

SCOPE = {"tenant": "acme", "user": "ann", "agent": "coder", "project": "apollo"}
PINNED = ("--tenant", "acme", "--user", "ann", "--agent", "coder", "--project", "apollo")
GRANT = {"tenant": "acme", "users": ["ann"], "agents": ["coder"], "projects": ["apollo"], "permissions": [*EVERYTHING]}

SCOPES = {
    "wrong tenant": {"tenant": "umbra"},
    "wrong user": {"user": "bob"},
    "wrong agent": {"agent": "writer"},
    "wrong project": {"project": "gemini"},
}
PROOFS = {
    "no credential": "CREDENTIALS_MISSING",
    "expired": "CREDENTIALS_INVALID",
    "revoked": "CREDENTIALS_INVALID",
    "forged": "CREDENTIALS_INVALID",
}
WAYS = ("key", "token")


class House:
    """A server that asks for credentials, and credentials of every kind for it."""

    def __init__(self, server: ServerProcess, channel: grpc.Channel, issuer: TokenIssuer) -> None:
        self.server = server
        self.caller = BearerCaller(channel, SCOPE)
        self.issuer = issuer
        self.keys = {"good": self._key()}
        self.bearers: dict[tuple[str, str], str | None] = {
            ("key", "good"): self.keys["good"]["key"],
            ("key", "no credential"): None,
            ("key", "expired"): self._expired_key(),
            ("key", "revoked"): self._revoked_key(),
            ("key", "forged"): self._forged_key(),
            ("token", "good"): issuer.sign(issuer.claims(GRANT)),
            ("token", "no credential"): None,
            ("token", "expired"): issuer.sign(issuer.claims(GRANT, iat=1_700_000_000, exp=1_700_000_600)),
            ("token", "revoked"): self._token_by_a_withdrawn_key(),
            ("token", "forged"): issuer.sign(issuer.claims(GRANT), key=new_signing_key()),
        }

    def by(self, way: str, state: str = "good") -> BearerCaller:
        """Return a caller whose credential is in this state."""
        return replace(self.caller, bearer=self.bearers[way, state])

    def without(self, way: str, *lacking: str) -> BearerCaller:
        """Return a caller with every permission but these."""
        kept = tuple(p for p in EVERYTHING if p not in lacking)
        if (way, str(kept)) not in self.bearers:
            self.bearers["key", str(kept)] = self._key(permissions=kept)["key"]
            claims = self.issuer.claims({**GRANT, "permissions": list(kept)})
            self.bearers["token", str(kept)] = self.issuer.sign(claims)
        return self.by(way, str(kept))

    def _key(self, *arguments: str, **options: Any) -> dict[str, Any]:
        return make_key(self.server.data_dir, *PINNED, *arguments, **options)

    def _expired_key(self) -> str:
        made = self._key()
        ran = keys_command(self.server.data_dir, "rotate", made["id"], "--overlap-hours", "0")
        assert ran.returncode == 0, ran.stderr
        return str(made["key"])

    def _revoked_key(self) -> str:
        made = self._key()
        assert keys_command(self.server.data_dir, "revoke", made["id"]).returncode == 0
        return str(made["key"])

    def _forged_key(self) -> str:
        """A key of another data folder's making, well-formed, under the id of a good key here."""
        from ironclaw_memory.credentials import key_text  # noqa: PLC0415  # only this forger needs the inside

        _, _, secret, _ = key_text.make_key().split("_")
        start = f"icm_{self.keys['good']['id']}_{secret}"
        return f"{start}_{key_text._check(start)}"

    def _token_by_a_withdrawn_key(self) -> str:
        other = new_signing_key()
        return self.issuer.sign(self.issuer.claims(GRANT), key=other, kid="withdrawn")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server on a folder of its own that accepts API keys and tokens."""
    folder: Path = tmp_path_factory.mktemp("house")
    issuer = TokenIssuer(folder)
    with run_server(folder / "data", api_keys="on", **issuer.settings) as server, server.channel() as channel:
        yield House(server, channel, issuer)


def outcome_of(caller: BearerCaller, name: str) -> str:
    """Return the reason of a call's refusal, or `answered`; a stream that goes on is given up soon."""
    try:
        caller.poke(name, 1.5 if METHODS[name].server_streaming else 10)
    except Refusal as refusal:
        return refusal.reason or refusal.code
    return "answered"


def needed_by(name: str) -> set[str]:
    """Return the permissions without any of which a method is refused."""
    alternatives = PERMISSIONS[f"/{name}"]
    return {p.value for p in set.intersection(*map(set, alternatives))} or {p.value for a in alternatives for p in a}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_its_permissions(name: str) -> None:
    """The table of permissions and the methods of the protos are the same list."""
    assert f"/{name}" in PERMISSIONS
    assert f"/{name}" in SCOPED
    assert len(PERMISSIONS) == len(METHODS)


def test_a_forgotten_method_stops_the_server() -> None:
    """A method that isn't in the table can't be assembled into a server."""
    with pytest.raises(LookupError, match="Forgotten"):
        check_table([*SCOPED, "/ironclaw.memory.v1.MemoryService/Forgotten"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", METHODS)
def test_a_good_credential_gets_through(house: House, name: str, way: str) -> None:
    """With every permission in its own scope a call meets no refusal of who makes it."""
    outcome = outcome_of(house.by(way), name)
    assert outcome not in ("CREDENTIALS_MISSING", "CREDENTIALS_INVALID", "SCOPE_FORBIDDEN", "PERMISSION_FORBIDDEN")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("state", "reason"), PROOFS.items())
@pytest.mark.parametrize("name", METHODS)
def test_a_bad_credential_is_unauthenticated(house: House, name: str, state: str, reason: str, way: str) -> None:
    """Without a credential, or with one that expired, was revoked or forged, no method answers."""
    caller = house.by(way, state)
    with refused(reason, kind="operation", hides=(caller.bearer or "nothing to hide", *SCOPE.values())):
        caller.poke(name)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("case", "change"), SCOPES.items())
@pytest.mark.parametrize("name", METHODS)
def test_another_scope_is_forbidden(house: House, name: str, case: str, change: dict[str, str], way: str) -> None:
    """A good credential opens no scope that differs from its grant on any axis."""
    caller = replace(house.by(way), scope={**SCOPE, **change})
    with refused("SCOPE_FORBIDDEN", kind="operation", hides=(caller.bearer, *SCOPE.values(), *change.values())):
        caller.poke(name)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", METHODS)
def test_a_missing_permission_is_forbidden(house: House, name: str, way: str) -> None:
    """A credential with every permission but the needed ones is refused, and told which one it lacks."""
    needed = needed_by(name)
    with refused("PERMISSION_FORBIDDEN", kind="operation") as caught:
        house.without(way, *needed).poke(name)
    assert caught[0].metadata["permission"] in needed


@pytest.mark.parametrize("name", METHODS)
def test_each_permission_alone_opens_its_own_methods_only(house: House, name: str) -> None:
    """Permissions imply nothing: a method opens to the permissions of its entry and to no other alone."""
    for permission in EVERYTHING:
        caller = house.without("key", *(p for p in EVERYTHING if p != permission))
        allowed = any({p.value for p in needed} == {permission} for needed in PERMISSIONS[f"/{name}"])
        assert (outcome_of(caller, name) != "PERMISSION_FORBIDDEN") is allowed, permission


TOOLS = {
    "write": ("write", {"target": "n.md", "content": "tea"}),
    "read": ("read", {"path": "n.md"}),
    "search": ("read", {"query": "tea"}),
    "tree": ("read", {}),
    "profile_set": ("write", {"locale": "en"}),
}


@pytest.mark.parametrize(("tool", "needs"), [(tool, needs) for tool, (needs, _) in TOOLS.items()])
def test_a_tool_by_name_needs_what_its_rpc_needs(house: House, tool: str, needs: str) -> None:
    """`InvokeTool` is no way around a permission: the refusal is the call's, not an error for the model."""
    arguments = TOOLS[tool][1]
    house.by("key").write("n.md", "tea")
    with refused("PERMISSION_FORBIDDEN") as caught:
        house.without("key", needs).tool(tool, **arguments)
    assert caught[0].metadata["permission"] == needs
    other = "read" if needs == "write" else "write"
    house.without("key", other).tool(tool, **arguments)


def test_an_unknown_tool_stays_the_model_s_error(house: House) -> None:
    """A tool that doesn't exist needs no permission; the model is told, whoever asks."""
    with pytest.raises(ToolRefusal):
        house.without("key", "write").invoke("ironclaw.memory.dance", "{}")


@pytest.mark.parametrize("axis", SCOPE)
def test_a_pinned_axis_is_filled_when_it_is_left_out(house: House, axis: str) -> None:
    """What the grant pins needn't be said: the call lands in the granted scope."""
    house.by("key").write(f"{axis}.md", "here")
    assert replace(house.by("key"), scope={**SCOPE, axis: None}).read(f"{axis}.md") == "here"


def test_refusals_are_the_same_whether_a_scope_exists_or_not(house: House) -> None:
    """A forbidden scope with documents and one that nobody ever used are refused in the same words."""
    other = replace(house.caller, bearer=make_key(house.server.data_dir, "--tenant", "umbra", "--any-user")["key"])
    replace(other, scope={"tenant": "umbra", "user": "zoe"}).write("MEMORY.md", "Zoe likes tea.")
    told = []
    for tenant, user in (("umbra", "zoe"), ("umbra", "nobody"), ("nowhere", "nobody")):
        with refused("SCOPE_FORBIDDEN") as caught:
            replace(house.by("key"), scope={**SCOPE, "tenant": tenant, "user": user}).read("MEMORY.md")
        told.append((caught[0].message, caught[0].metadata))
    assert told == [told[0]] * 3


def test_health_and_reflection_need_no_credential(house: House) -> None:
    """An orchestrator asks without a key."""
    answer = house.caller.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10)
    assert answer == b"\x08\x01"


def test_refused_credentials_are_logged_without_themselves(house: House) -> None:
    """The log names why and whose, and never holds a key, a token or a scope."""
    for state in ("expired", "revoked", "forged"):
        with pytest.raises(Refusal) as caught:
            house.by("key", state).read("n.md")
        check_form(caught.value)
        check_silence(caught.value)

    def lines() -> list[dict[str, Any]]:
        return [line for line in house.server.log if line["event"] == "credential refused"]

    wait_until(
        lambda: {"expired API key", "revoked API key", "forged API key"} <= {line["why"] for line in lines()}, 5, "log"
    )
    assert house.keys["good"]["id"] in {line["subject"] for line in lines()}
    for bearer in filter(None, house.bearers.values()):
        assert bearer not in house.server.stderr
