"""`read`: one document whole, with what a host needs to change it safely later."""

from __future__ import annotations

from typing import Final, Protocol

from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.document import StoredDocument
from ironclaw_memory.contract.faults import DocumentMissing, DocumentNotText
from ironclaw_memory.contract.path import DocumentPath, parse_document_path
from ironclaw_memory.contract.results import ReadResult
from ironclaw_memory.contract.scope import Scope

MAX_COUNTS: Final = 4_096
"""Documents whose words are counted once; as many as the store recognises without hashing them."""


class ReadingStore(Protocol):
    """What reading needs of the store."""

    def read_document(self, scope: Scope, path: DocumentPath) -> StoredDocument:
        """See `store.documents.DocumentStore.read_document`."""


def decode_document(content: bytes) -> str:
    """Return a document's text.

    Raises:
        DocumentNotText: it isn't UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DocumentNotText("The document isn't UTF-8 text.") from None


class Reader:
    """Reads documents of one scope at a time."""

    def __init__(self, store: ReadingStore) -> None:
        self._store = store
        self._words: dict[str, int] = {}  # by content hash: counting them takes longer than reading the file

    def _count_words(self, document: StoredDocument, text: str) -> int:
        count = self._words.get(document.sha256)
        if count is None:
            if len(self._words) >= MAX_COUNTS:
                self._words = {}  # replaced whole, so that threads need no lock
            count = self._words[document.sha256] = len(text.split())
        return count

    def read(self, call: Call, path: str) -> ReadResult:
        """Return the document.

        Raises:
            InvalidPath: the path breaks the grammar.
            DocumentMissing: nothing is there; of kind `input`, since another path may be.
            DocumentNotText: it isn't UTF-8.
        """
        checked = parse_document_path(path)
        try:
            document = self._store.read_document(call.scope, checked)
        except DocumentMissing:
            raise DocumentMissing(on_read=True) from None
        text = decode_document(document.content)
        return ReadResult(
            path=checked.text,
            content=text,
            word_count=self._count_words(document, text),
            content_sha256=document.sha256,
            size_bytes=len(document.content),
            updated_at=document.updated_at,
            version=document.version,
        )
