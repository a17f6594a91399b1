"""API keys as an operator and a host meet them: made by a command, used over the wire, ended without a restart."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import grpc
import pytest

from ironclaw_memory.credentials.key_file import key_file
from ironclaw_memory.credentials.last_use import USE_FILE
from tests.caller import ADMIN, refusal_of
from tests.server_process import environment, run_server, wait_until
from tests.wire.credentials import BearerCaller, keys_command, make_key
from tests.wire.refusals import refused

SCOPE = {"tenant": "acme", "user": "ann"}
WEAK = "Never break character"
"""A text of which the safety check only warns."""
FOR_ANN = ("--tenant", "acme", "--user", "ann")


def serve(*arguments):
    """Run `serve` that is expected not to come up."""
    command = [sys.executable, "-m", "ironclaw_memory", "serve", *map(str, arguments)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)


def test_the_first_key_closes_the_door_of_a_running_server(tmp_path):
    """Without keys loopback is trusted; from the first on every call needs one, and a deleted file opens nothing."""
    data = tmp_path / "data"
    with run_server(data) as server, server.channel() as channel:
        assert "no credentials configured" in server.stdout
        anyone = BearerCaller(channel, SCOPE)
        anyone.write("n.md", "tea")
        key = make_key(data, *FOR_ANN)["key"]
        with refused("CREDENTIALS_MISSING"):
            anyone.read("n.md")
        assert replace(anyone, bearer=key).read("n.md") == "tea"
        key_file(data).unlink()
        with refused("CREDENTIALS_MISSING"):
            anyone.read("n.md")
        with refused("CREDENTIALS_INVALID"):
            replace(anyone, bearer=key).read("n.md")


def test_a_key_is_rotated_and_revoked_while_it_is_used(tmp_path):
    """The successor works beside its predecessor; a revocation ends a key at its next call, on the same connection."""
    data = tmp_path / "data"
    old = make_key(data, *FOR_ANN, "--name", "host")
    with run_server(data) as server, server.channel() as channel:
        assert "credentials needed: API keys" in server.stdout
        caller = BearerCaller(channel, SCOPE, bearer=old["key"])
        caller.write("n.md", "tea")
        new = json.loads(keys_command(data, "rotate", old["id"], "--json").stdout)
        assert caller.read("n.md") == replace(caller, bearer=new["key"]).read("n.md")
        assert keys_command(data, "revoke", old["id"]).returncode == 0
        with refused("CREDENTIALS_INVALID"):
            caller.read("n.md")
        assert replace(caller, bearer=new["key"]).read("n.md") == "tea"


def test_the_list_tells_all_but_the_key(tmp_path):
    """State, grant, end and last use are listed, for people and as JSON; the last use comes from the server."""
    data = tmp_path / "data"
    used = make_key(
        data, *FOR_ANN, "--agent", "_none", "--source", "import", "--name", "nightly", permissions=("read",)
    )
    revoked = make_key(data, "--tenant", "acme", "--any-user", "--days", "0")
    keys_command(data, "revoke", revoked["id"])
    with run_server(data) as server, server.channel() as channel, refused("NOT_FOUND"):
        BearerCaller(channel, SCOPE, bearer=used["key"]).read("n.md")
    first, second = map(json.loads, keys_command(data, "list", "--json").stdout.splitlines())
    assert first["grant"] == {
        "tenant": "acme",
        "users": ["ann"],
        "agents": ["_none"],
        "projects": "any",
        "permissions": ["read"],
        "source": "import",
    }
    assert (first["state"], first["name"]) == ("active", "nightly")
    assert first["last_used_at"] >= first["created_at"]
    assert (second["state"], second["expires_at"], second["last_used_at"]) == ("revoked", None, None)
    plain = keys_command(data, "list").stdout
    assert used["id"] in plain
    assert "revoked" in plain
    assert used["key"] not in plain + json.dumps([first, second])


def test_the_last_use_is_kept_while_the_server_runs(tmp_path):
    """A list shows that a key is in use without waiting for the server's end."""
    data = tmp_path / "data"
    key = make_key(data, *FOR_ANN)
    with run_server(data) as server, server.channel() as channel:
        BearerCaller(channel, SCOPE, bearer=key["key"]).write("n.md", "tea")
        kept = key_file(data).with_name(USE_FILE)
        wait_until(lambda: kept.exists() and key["id"] in kept.read_text(), 10, "last use kept")


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "--tenant", "acme"),
        ("create", "--tenant", "acme", "--user", "ann", "--any-user"),
        ("create", "--tenant", "a/b", "--user", "ann"),
        ("create", "--tenant", "acme", "--user", "ann", "--permission", "root"),
        ("create", "--tenant", "acme", "--user", "ann", "--days", "-1"),
        ("revoke", "nosuchkey0"),
        ("rotate", "nosuchkey0"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_makes_and_changes_nothing(arguments, tmp_path):
    """Who is meant must be said exactly once; what isn't understood ends in one line and exit code 2."""
    ran = keys_command(tmp_path / "data", *arguments)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not keys_command(tmp_path / "data", "list").stdout


def test_a_stream_ends_with_its_credential(tmp_path):
    """A watch that was let in doesn't outlive the revocation of its key."""
    data = tmp_path / "data"
    key = make_key(data, *FOR_ANN)
    with run_server(data) as server, server.channel() as channel:
        metadata = tuple(BearerCaller(channel, SCOPE, bearer=key["key"]).metadata())
        watch = channel.unary_stream("/ironclaw.memory.v1.MemoryEventService/WatchEvents")
        stream = watch(b"", metadata=metadata, timeout=30)
        assert keys_command(data, "revoke", key["id"]).returncode == 0
        with pytest.raises(grpc.RpcError) as caught:
            list(stream)
        assert refusal_of(caught.value).reason == "CREDENTIALS_INVALID"


def test_the_commands_send_the_token_of_the_environment(tmp_path):
    """A person with a key in the environment gets through, over nothing but it; without one the refusal is said."""
    data = tmp_path / "data"
    key = make_key(data, *FOR_ANN)["key"]
    with run_server(data) as server:
        scope = {
            "IRONCLAW_MEMORY_SERVER": server.address,
            "IRONCLAW_MEMORY_TENANT": "acme",
            "IRONCLAW_MEMORY_USER": "ann",
        }
        command = [sys.executable, "-m", "ironclaw_memory", "tree", "--json"]
        for token, code, said in ((key, 0, "[]"), ("", 1, "CREDENTIALS_MISSING"), ("icm_x", 1, "CREDENTIALS_INVALID")):
            variables = environment({**scope, "IRONCLAW_MEMORY_TOKEN": token})
            ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
            assert (ran.returncode, said in ran.stdout + ran.stderr) == (code, True), ran


def test_api_keys_on_and_off(tmp_path):
    """`on` asks before there is a key; `off` looks at none."""
    data = tmp_path / "data"
    with run_server(data, api_keys="on") as server, server.channel() as channel, refused("CREDENTIALS_MISSING"):
        BearerCaller(channel, SCOPE).read("n.md")
    make_key(data, *FOR_ANN)
    with run_server(data, api_keys="off") as server, server.channel() as channel:
        BearerCaller(channel, SCOPE).write("n.md", "tea")


def test_keys_hold_in_every_worker(tmp_path):
    """Several processes read the same file; none lets an unknown caller in."""
    data = tmp_path / "data"
    key = make_key(data, *FOR_ANN)["key"]
    with run_server(data, workers=2) as server:
        assert "credentials needed" in server.stdout
        for _ in range(6):
            with server.channel() as channel:
                BearerCaller(channel, SCOPE, bearer=key).tree()
                with refused("CREDENTIALS_MISSING"):
                    BearerCaller(channel, SCOPE).read("n.md")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (("--listen", "0.0.0.0:0"), "without credentials"),
        (("--listen", "0.0.0.0:0", "--api-keys", "on"), "in the clear"),
        (("--tls-certificate", "x.pem"), "go together"),
        (("--mtls-grants", "x.toml"), "needs tls_client_ca"),
        (("--jwt-jwks", "x.json"), "go together"),
        (("--jwt-jwks", "x.json", "--jwt-issuer", "i", "--jwt-audience", "a"), "x.json is missing"),
        (("--tls-certificate", "x.pem", "--tls-key", "y.pem"), "can't be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_can_t_be_served_safely_isn_t(settings, says, tmp_path):
    """Others may reach a server only with credentials and TLS; half a configuration is told in a line, exit code 2."""
    ran = serve("--data-dir", tmp_path / "data", *settings)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_damaged_file_of_keys_stops_the_start(tmp_path):
    """A server never starts on keys that it can't read: it would let everyone in, or no one."""
    data = tmp_path / "data"
    make_key(data, *FOR_ANN)
    key_file(data).write_text("{")
    ran = serve("--data-dir", data, "--listen", "127.0.0.1:0")
    assert ran.returncode == 2
    assert "keys.json" in ran.stderr


def test_a_version_tells_what_replaced_it(tmp_path):
    """The server puts the credential's source class on each version, and a request can't say otherwise."""
    data = tmp_path / "data"
    keys = {
        source: make_key(data, *FOR_ANN, "--source", source)["key"] for source in ("user", "agent", "tool", "import")
    }
    with run_server(data) as server, server.channel() as channel:
        for number, (source, key) in enumerate(keys.items()):
            BearerCaller(channel, SCOPE, bearer=key).write("n.md", f"{number} by {source}")
        admin = BearerCaller(channel, SCOPE, bearer=keys["user"])
        admin.call(f"{ADMIN}/DeleteDocument", {"path": "n.md"})
        versions = admin.call(f"{ADMIN}/ListVersions", {"path": "n.md"})["versions"]
    assert [version["replaced_by"] for version in reversed(versions)] == [
        "SOURCE_CLASS_AGENT",
        "SOURCE_CLASS_TOOL",
        "SOURCE_CLASS_IMPORT",
        "SOURCE_CLASS_USER",
    ]


def test_a_distrusted_source_is_refused_what_others_are_warned_of(tmp_path):
    """With strict_sources a tool's weak finding is refused, while the user's is stored with a warning."""
    data = tmp_path / "data"
    keys = {source: make_key(data, *FOR_ANN, "--source", source)["key"] for source in ("user", "tool")}
    with run_server(data, strict_sources="tool,import") as server, server.channel() as channel:
        user, tool = (BearerCaller(channel, SCOPE, bearer=keys[source]) for source in ("user", "tool"))
        with refused("HIGH_RISK_PROMPT_INJECTION"):
            tool.append("memory", WEAK)
        tool.append("memory", "User drinks tea.")
        user.append("memory", WEAK)
        assert user.read("MEMORY.md") == f"User drinks tea.\n{WEAK}\n"
