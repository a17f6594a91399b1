"""`profile_set`: structured facts about the human user, merged by key into one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from ironclaw_memory.contract.argument_rules import check_profile_set
from ironclaw_memory.contract.arguments import ProfileSetArguments
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.faults import DocumentMissing, Fault, ProfileCorrupt
from ironclaw_memory.contract.safety import Operation
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.contract.target import PROFILE_PATH
from ironclaw_memory.memory.changes import DocumentChanges, Edit
from ironclaw_memory.memory.read import ReadingStore

KNOWN_KEYS: Final = ("timezone", "locale", "location")


def parse_profile(text: str) -> dict[str, Any]:
    """Return a stored profile.

    Raises:
        ProfileCorrupt: it isn't a JSON object, or one of its three known keys isn't text.
    """
    try:
        profile = json.loads(text)
    except (ValueError, RecursionError):
        raise ProfileCorrupt("The stored profile isn't JSON; it was left untouched.") from None
    if not isinstance(profile, dict):
        raise ProfileCorrupt("The stored profile isn't a JSON object; it was left untouched.")
    for key in KNOWN_KEYS:
        if not isinstance(profile.get(key, ""), str):
            raise ProfileCorrupt(f"The stored profile's '{key}' isn't text; it was left untouched.")
    return profile


class ProfileWriter:
    """Merges facts into the profile of the human, whatever the agent and project of the call."""

    def __init__(self, changes: DocumentChanges) -> None:
        self._changes = changes

    def set(self, call: Call, arguments: ProfileSetArguments) -> bool:
        """Store the facts; return whether an earlier try of the request had done so.

        Raises:
            ProfileCorrupt: what is stored isn't a profile; it stays untouched.
            UnsafeText: a fact tries to instruct.
        """
        check_profile_set(arguments)
        facts = {key: value for key in KNOWN_KEYS if (value := getattr(arguments, key)) is not None}

        def merge(old: str | None) -> tuple[str, Mapping[str, Any]]:
            profile = parse_profile(old) if old else {}
            return json.dumps(profile | facts, ensure_ascii=False, indent=2) + "\n", {}

        edit = Edit(merge, Operation.PROFILE_UPDATE, "memory_service.profile_set")
        return self._changes.apply(call, PROFILE_PATH, edit, facts, scope=call.scope.of_the_human()).replayed


class ProfileReader:
    """Hands out the profile of the human, whatever the agent and project of the call."""

    def __init__(self, store: ReadingStore) -> None:
        self._store = store

    def read(self, call: Call) -> bytes | None:
        """Return the bytes as they are, a corrupt profile's too; None when there is none.

        Raises:
            StorageUnavailable: it can't be read.
        """
        try:
            return self._store.read_document(call.scope.of_the_human(), PROFILE_PATH).content
        except DocumentMissing:
            return None


class ProfileZone:
    """Finds the zone in which a user's day is counted."""

    def __init__(self, store: ReadingStore) -> None:
        self._store = store

    def of(self, scope: Scope) -> str:
        """Return the profile's zone, or `UTC` where there is none that can be used."""
        try:
            stored = self._store.read_document(scope.of_the_human(), PROFILE_PATH)
            zone = parse_profile(stored.content.decode("utf-8")).get("timezone", "")
            return ZoneInfo(zone).key if zone else "UTC"
        except (DocumentMissing, ProfileCorrupt):
            return "UTC"
        except (Fault, ValueError, OSError):  # unreadable, not UTF-8, or no zone: a daily log must not depend on it
            return "UTC"
