"""etcd as the durable gRPC store: a key a text, put and get by its own protocol, no search."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import etcd_pb2 as wire  # generated from etcd.proto beside this file when the rival is set up
import grpc

from bench.compare.subjects import ATTACK, NO, PARTLY, YES, Finding, Lacking, Place, Subject, join_block

CALL_SECONDS = 60.0
USER = "bench"
AUTHENTICATION = (
    ("user", "add", "root:pass"),
    ("role", "add", "root"),
    ("user", "grant-role", "root", "root"),
    ("role", "add", "other"),
    ("role", "grant-permission", "other", "--prefix=true", "readwrite", "somebody-else/"),
    ("user", "add", "other:pass"),
    ("user", "grant-role", "other", "other"),
    ("auth", "enable"),
)


class Memory(Subject):
    """The keys under one prefix."""

    languages = "any with gRPC; official client for Go"

    def __init__(self, place: Place, channel: grpc.Channel | None = None, user: str = USER) -> None:
        self._channel = channel or grpc.insecure_channel(place.address)
        self._place, self._user = place, user
        self._range = self._method("Range", wire.RangeRequest, wire.RangeResponse)
        self._put = self._method("Put", wire.PutRequest, wire.PutResponse)
        self._txn = self._method("Txn", wire.TxnRequest, wire.TxnResponse)

    def _method(self, name: str, asks: Any, answers: Any) -> Any:
        call = self._channel.unary_unary(
            f"/etcdserverpb.KV/{name}",
            request_serializer=asks.SerializeToString,
            response_deserializer=answers.FromString,
        )
        return lambda request: call(request, timeout=CALL_SECONDS)

    def _key(self, key: str) -> bytes:
        return f"{self._user}/{key}".encode()

    def _find(self, key: str, revision: int = 0) -> Any:
        found = self._range(wire.RangeRequest(key=self._key(key), revision=revision)).kvs
        if not found:
            raise KeyError(key)
        return found[0]

    def put(self, key: str, text: str) -> None:
        """Put the text."""
        self._put(wire.PutRequest(key=self._key(key), value=text.encode()))

    def get(self, key: str) -> str:
        """Get the text, by a linearisable read, as is the default."""
        return str(self._find(key).value.decode())

    def _longer(self, key: str, line: str) -> Any:
        found = self._find(key)
        longer = wire.PutRequest(key=found.key, value=found.value + f"{line}\n".encode())
        unchanged = wire.Compare(target=wire.Compare.MOD, key=found.key, mod_revision=found.mod_revision)
        return wire.TxnRequest(compare=[unchanged], success=[wire.RequestOp(request_put=longer)])

    def append(self, key: str, line: str) -> None:
        """Put the longer text if nobody changed it since it was read, and try again otherwise."""
        while not self._txn(self._longer(key, line)).succeeded:
            pass

    def search(self, question: str) -> list[str]:
        """There is none."""
        del question
        raise Lacking("keys only: nothing is searched")

    def context(self, question: str) -> str:
        """Get everything under the prefix, which is all that a host could do, and cut it."""
        del question
        prefix = self._key("")
        everything = self._range(wire.RangeRequest(key=prefix, range_end=prefix[:-1] + b"0")).kvs
        return join_block(each.value.decode() for each in everything)

    def ask(self, question: str) -> tuple[list[str], str]:
        """There is nothing to ask."""
        return self.search(question), ""

    def as_user(self, user: str) -> Memory:
        """Take another prefix."""
        return Memory(self._place, self._channel, user)

    def probe_tenants(self) -> Finding:
        """Read another prefix as it is, and again with authentication on and a role for each prefix.

        From then on every call needs a user, so nothing else can be asked of this server afterwards.
        """
        self.put("private/plan", "The vault code is heliotrope.")
        open_at_first = "heliotrope" in self._control("get", f"{USER}/private/plan")
        for command in AUTHENTICATION:
            self._control(*command)
        denied = [self._control(*user, "get", f"{USER}/private/plan") for user in (("--user=other:pass",), ())]
        apart = not any("heliotrope" in said for said in denied)
        said = "permission denied once users, and roles by key prefix, are set up; until then "
        return Finding(YES if apart else NO, said + ("any caller reads any key" if open_at_first else "closed as well"))

    def _control(self, *arguments: str) -> str:
        program = os.environ.get("ETCDCTL")
        if not program:
            raise Lacking("any caller reads any key; authentication wasn't tried, for etcdctl isn't there")
        command = [program, f"--endpoints={self._place.address}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env={"ETCDCTL_API": "3"}, check=False)
        return done.stdout + done.stderr

    def probe_attack(self) -> Finding:
        """Store it and get it."""
        self.put("inbox/mail", ATTACK)
        return Finding(NO if self.get("inbox/mail") == ATTACK else YES, "stored and returned as it is")

    def probe_history(self) -> Finding:
        """Read at the revision before a change."""
        self.put("history/note", "first")
        revision = self._find("history/note").mod_revision
        self.put("history/note", "second")
        first = self._find("history/note", revision).value == b"first"
        return Finding(YES if first else NO, "read at any revision until it is compacted")

    def probe_retry(self) -> Finding:
        """Send one conditional append twice."""
        self.put("retry/note", "start\n")
        request = self._longer("retry/note", "once more")
        answers = [self._txn(request).succeeded for _ in range(2)]
        once = self.get("retry/note").count("once more") == 1
        said = f"no request ids; a conditional put sent twice answers {answers[0]}, then {answers[1]}"
        return Finding(PARTLY if once else NO, said)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()
