"""What a write that was stored is told about itself (contract 4.3): codes and their value, not how they are found.

An advisory never refuses anything. It rides on the answer so that the model can mend the memory in its next call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class AdvisoryCode(StrEnum):
    """What makes stored text poor memory. The wire's enum is `ADVISORY_CODE_` and the member's name."""

    READS_AS_INSTRUCTION = "reads_as_instruction"
    SHORT_LIVED_ARTIFACT = "short_lived_artifact"
    NEAR_DUPLICATE = "near_duplicate"
    MULTIPLE_MATCHES = "multiple_matches"
    CONTAINS_SECRET = "contains_secret"  # noqa: S105  # the name of a finding, not a secret


@dataclass(frozen=True, slots=True)
class Advisory:
    """One remark on a write.

    Attributes:
        code: what was noticed.
        message: one sentence that tells the model what to do about it.
        line: the stored line that a near duplicate resembles; None for every other code.
        count: how many matches the patch had; None for every other code than `multiple_matches`.
    """

    code: AdvisoryCode
    message: str
    line: str | None = None
    count: int | None = None

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object that `from_record` takes back; absent values have no key."""
        record: dict[str, Any] = {"code": self.code.value, "message": self.message}
        if self.line is not None:
            record["line"] = self.line
        if self.count is not None:
            record["count"] = self.count
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Advisory:
        """Return the advisory that `to_record` had written.

        Raises:
            KeyError: `code` or `message` is missing.
            ValueError: the code is none of `AdvisoryCode`.
        """
        return cls(AdvisoryCode(record["code"]), record["message"], record.get("line"), record.get("count"))
