"""Which documents a search may find: by the beginning of their path, and by what is left out.

The same rule twice: as a condition on the table of documents, and for a path in hand.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents may be found: SQL conditions on the table of documents, and their parameters."""

    path_prefix: str = ""
    exclude: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.path_prefix or self.exclude)

    def admits(self, path: str) -> bool:
        """Tell whether the document at `path` may be found; what `condition` says, for a path in hand."""
        folded = path.casefold()
        return path.startswith(self.path_prefix) and not any(
            folded.startswith(text) if text.endswith("/") else folded == text
            for text in map(str.casefold, self.exclude)
        )

    def condition(self) -> tuple[str, tuple[str, ...]]:
        """Return the condition and its parameters."""
        parts, values = ["state = 'indexed'"], []
        if self.path_prefix:
            parts.append("path >= ? AND path < ?")
            values += [self.path_prefix, self.path_prefix + "\U0010ffff"]
        if self.exclude:
            excluded, texts = self.excluding()
            parts.append(f"NOT ({excluded})")
            values += texts
        return " AND ".join(parts), tuple(values)

    def excluding(self) -> tuple[str, tuple[str, ...]]:
        """Return the condition, and its parameters, under which a document is among the excluded ones."""
        parts, values = [], []
        for text in map(str.casefold, self.exclude):
            parts.append("folded >= ? AND folded < ?" if text.endswith("/") else "folded = ?")
            values += [text, text + "\U0010ffff"] if text.endswith("/") else [text]
        return " OR ".join(parts), tuple(values)


def count_documents(connection: sqlite3.Connection, chosen: Filter) -> int:
    """Return how many documents may be found."""
    if not chosen:
        return int(connection.execute("SELECT documents FROM totals").fetchone()[0])
    if chosen.path_prefix:
        return _count(connection, *chosen.condition())
    excluded, values = chosen.excluding()  # usually few, where what is left would have to be gone through
    return count_documents(connection, Filter()) - _count(connection, f"state = 'indexed' AND ({excluded})", values)


def _count(connection: sqlite3.Connection, condition: str, values: tuple[str, ...]) -> int:
    statement = f"SELECT count(*) FROM documents WHERE {condition}"  # noqa: S608 # no text of the caller's is in it
    return int(connection.execute(statement, values).fetchone()[0])
