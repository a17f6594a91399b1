"""Answers a query from the files while there is no index: the same tables, filled in memory with what may match.

Not an index: it reads every document, newest first, and keeps nothing. A document is taken in when it holds the first
letters of any word asked for, which is a cheap test that no stem or accent defeats.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from ironclaw_memory.contract.faults import Fault
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .analysis import fold, read_tokens
from .catalogue import Catalogue
from .dates import day_number
from .filter import Filter
from .query import DocumentSource
from .ranking import RankedDocument, rank_documents
from .tables import create_in_memory

_LETTERS: Final = 3


def scan_documents(
    source: DocumentSource, scope: Scope, text: str, chosen: Filter, limit: int, language: str, seconds: float
) -> tuple[list[RankedDocument], int]:
    """Return what `rank_documents` would, and how many documents were read in the `seconds` there were."""
    needles = _needles(text)
    read = 0
    with closing(create_in_memory()) as connection:
        catalogue = Catalogue(connection, language)
        for path, content, sha256, day in _readable(source, scope, chosen, time.monotonic() + seconds):
            read += 1
            if _may_match(path.text, content, needles):
                catalogue.put(path.text, content, sha256, (len(content), 0, 0), day, None)
        catalogue.save_totals()
        ranked = rank_documents(connection, text, chosen, limit)
    return ranked, read


def _readable(
    source: DocumentSource, scope: Scope, chosen: Filter, deadline: float
) -> Iterator[tuple[DocumentPath, bytes, str, int]]:
    """Yield the documents that may be found, newest first, until the deadline."""
    stats = sorted(source.list_documents(scope), key=lambda stat: -stat.modified_ns)
    for stat in stats:
        if time.monotonic() > deadline:
            return
        try:
            if not chosen.admits(stat.path.text) or source.effective_metadata(scope, stat.path).get("skip_indexing"):
                continue
            document = source.read_document(scope, stat.path)
            document.content.decode()
        except (Fault, UnicodeDecodeError):
            continue
        day = day_number(stat.path.text) or document.updated_at.date().toordinal()
        yield stat.path, document.content, document.sha256, day


def _needles(text: str) -> tuple[str, ...]:
    return tuple({token.text[: _LETTERS if token.is_word else 1] for token in read_tokens(text)})


def _may_match(path: str, content: bytes, needles: tuple[str, ...]) -> bool:
    hay = f"{path}\n{content.decode()}"
    hay = hay.lower() if hay.isascii() else _fold_text(hay)
    return any(needle in hay for needle in needles)


def _fold_text(text: str) -> str:
    return " ".join(fold(word) for word in unicodedata.normalize("NFKC", text).split())
