"""ironclaw-memory through its Python client: a document a key, gRPC to a server on loopback."""

from __future__ import annotations

import subprocess
import sys
import uuid

from bench.compare.subjects import (
    ATTACK,
    NO,
    PARTLY,
    PASSAGES,
    RESULTS,
    YES,
    Finding,
    Place,
    Subject,
    first_of_each,
)
from bench.corpus import SeededScope
from ironclaw_memory_client import MemoryClient, Scope
from ironclaw_memory_client.errors import DocumentNotFoundError, MemoryServiceError, UnsafeTextError

CALL_SECONDS = 60.0
TENANT = "compare"
USER = "bench"
ANSWERED = "answered"


class Memory(Subject):
    """A scope of the service."""

    languages = "any with gRPC; clients for Python, Go, TypeScript, Java, Rust"

    def __init__(self, place: Place, client: MemoryClient | None = None) -> None:
        self._place = place
        self._client = client or MemoryClient(place.address, Scope(TENANT, USER), deadline=CALL_SECONDS)

    def put(self, key: str, text: str) -> None:
        """Replace the document."""
        self._client.write(text, target=_path(key), append=False)

    def get(self, key: str) -> str:
        """Read the document."""
        try:
            return self._client.read(_path(key)).content
        except DocumentNotFoundError:
            raise KeyError(key) from None

    def append(self, key: str, line: str) -> None:
        """Append to the document, which the service does under its lock."""
        self._client.write(f"{line}\n", target=_path(key), append=True)

    def search(self, question: str) -> list[str]:
        """Search documents."""
        found = self._client.search(question, limit=RESULTS).results
        return first_of_each(hit.path.removesuffix(".md") for hit in found)

    def context(self, question: str) -> str:
        """Ask for the block."""
        return self._client.retrieve_context(question, max_snippets=PASSAGES).block

    def settle(self) -> None:
        """Search once, which brings the index up to date."""
        self.search("anything")

    def edit_by_hand(self, key: str, text: str) -> None:
        """Write the document's file."""
        folder = SeededScope(TENANT, 0).folder(self._place.folder) / "documents"
        (folder / _path(key)).write_text(text, "utf-8")

    def as_user(self, user: str) -> Memory:
        """Take another user of the same tenant."""
        return Memory(self._place, self._client.with_scope(user=user))

    def probe_tenants(self) -> Finding:
        """Make a key for another user and call with it: for that user, for the owner, and with no key at all.

        From the first key on every call needs one, so nothing else can be asked of this server afterwards.
        """
        self.put("private/plan", "The vault code is heliotrope.")
        other = Scope(TENANT, "somebody-else")
        with MemoryClient(self._place.address, other, token=self._new_key(other), deadline=CALL_SECONDS) as stranger:
            found = stranger.search("vault code heliotrope").results
            refused = [_refusal(stranger.with_scope(user=USER)), _refusal(self._client)]
        said = f"another user's key finds nothing; naming the owner with it: {refused[0]}; without a key: {refused[1]}"
        return Finding(NO if found or ANSWERED in refused else YES, f"{said}; without keys callers are trusted")

    def _new_key(self, scope: Scope) -> str:
        command = [sys.executable, "-m", "ironclaw_memory", "keys", "create", "--data-dir", str(self._place.folder)]
        command += ["--tenant", scope.tenant, "--user", scope.user, "--name", "compare"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return next(line for line in done.stdout.splitlines() if line.startswith("icm_"))

    def probe_attack(self) -> Finding:
        """Write it to what every prompt gets, and to a note; see what comes out."""
        try:
            self._client.write(ATTACK, target="memory")
        except UnsafeTextError as refused:
            self.put("inbox/mail", f"About the heliotrope delivery. {ATTACK}")
            block = self.context("heliotrope delivery")
            said = f"refused for prompt documents ({type(refused).__name__}); "
            if "Ignore all previous" in block:
                return Finding(PARTLY, said + "from a note it reaches the prompt")
            return Finding(YES, said + "from a note it is kept out of the prompt")
        return Finding(NO, "stored for every prompt")

    def probe_history(self) -> Finding:
        """Replace a text, list what is kept and restore the first."""
        self.put("history/note", "first")
        self.put("history/note", "second")
        versions = list(self._client.list_versions(_path("history/note")))
        oldest = min(version.version for version in versions)
        self._client.restore_version(_path("history/note"), oldest)
        restored = self.get("history/note").strip() == "first"
        return Finding(YES if restored else NO, "every version listed, read and restored by its number")

    def probe_retry(self) -> Finding:
        """Send one append twice under one id."""
        self.put("retry/note", "start\n")
        name = str(uuid.uuid4())
        for _ in range(2):
            self._client.write("once more\n", target=_path("retry/note"), append=True, request_id=name)
        times = self.get("retry/note").count("once more")
        return Finding(YES if times == 1 else NO, f"an append sent twice under one id: {times} time in the text")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _refusal(client: MemoryClient) -> str:
    try:
        client.read(_path("private/plan"))
    except MemoryServiceError as refused:
        return type(refused).__name__
    return ANSWERED


def _path(key: str) -> str:
    return key if key.endswith(".md") else f"{key}.md"
