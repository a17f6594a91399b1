"""The index over all scopes: which are open, what runs in the background, and the five things others may ask of it.

The public face of this package. How a search comes to its answer is `scope_index`; how the index follows the files is
`upkeep`. Everything kept here is derived from the documents and may be deleted.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from ironclaw_memory.contract.faults import Fault
from ironclaw_memory.contract.path import DocumentPath
from ironclaw_memory.contract.scope import Scope

from .background import Background
from .meaning import MeaningModel
from .query import DocumentSource, Indexed, IndexSettings, IndexStats, SearchAnswer, SearchQuery, tell_nobody
from .scope_index import ScopeIndex
from .word_vectors import load_word_vectors

__all__ = ["DocumentSource", "IndexSettings", "IndexStats", "SearchAnswer", "SearchIndex", "SearchQuery"]

BUILDERS = 2
"""Scopes whose index is built at the same time in this process; the rest wait and are searched by reading files."""

_log = structlog.get_logger(__name__)


class SearchIndex:
    """Full-text search over the documents of all scopes.

    Threads may share it, and several processes may work on one data directory. A forked child gets its own connections
    and its own background thread when it first uses it.

    Args:
        source: where the documents are.
        settings: how the index behaves.
        monotonic: the clock, in seconds.
        indexed: told what was indexed anew.
        model: of meaning; None chooses by the settings.

    Raises:
        ValueError: the settings ask for a model, and none is installed.
    """

    def __init__(
        self,
        source: DocumentSource,
        settings: IndexSettings = IndexSettings(),  # noqa: B008 # frozen
        *,
        monotonic: Callable[[], float] = time.monotonic,
        indexed: Indexed = tell_nobody,
        model: MeaningModel | None = None,
    ) -> None:
        self._source = source
        self._settings = settings
        self._monotonic = monotonic
        self._indexed = indexed
        self._model = model or _choose_model(settings.semantic)
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._scopes: OrderedDict[Scope, ScopeIndex] = OrderedDict()
        self._stop = threading.Event()
        self._builders: ThreadPoolExecutor | None = None
        self._background = Background(self._settings, self._monotonic, self._opened, self._open)

    def note_changed(self, scope: Scope, path: DocumentPath) -> None:
        """Tell that the document at `path` was written, deleted or given other metadata. Never raises.

        Call it after the commit and before the answer: whoever searches after that finds the change, in this process
        and in others. It costs one append to a small file; the indexing itself is left to the next search or to the
        background. The note survives SIGKILL. After a power cut the comparison with the files makes up for lost ones.
        """
        try:
            self._of(scope).note_changed(path)
            self._background.note_change(scope, path.text)
        except (OSError, Fault) as error:
            _log.warning("index_note_lost", error=type(error).__name__)
            self._distrust(scope)

    def search(self, scope: Scope, query: SearchQuery) -> SearchAnswer:
        """Return the documents of `scope` that hold anything of the query's text, best first.

        Raises:
            InvalidArguments: the text is blank, over 4,096 bytes or no valid Unicode.
            StorageUnavailable: the documents can't be read.
        """
        query.check()
        index = self._of(scope)
        self._background.note_search(scope)
        return index.search(query)

    def stats(self, scope: Scope) -> IndexStats:
        """Return what the index of `scope` holds and which documents it can't hold."""
        return self._of(scope).stats()

    def erase(self, scope: Scope) -> None:
        """Delete the index of `scope`: no byte of it stays in any file. The documents must be gone before."""
        index = self._of(scope)
        self._background.forget(scope)
        with self._lock:
            self._scopes.pop(scope, None)
        index.erase()

    def close(self) -> None:
        """End the background work and close every file. The index can't be used any more."""
        self._stop.set()
        self._background.stop()
        if self._builders is not None:
            self._builders.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            while self._scopes:
                self._scopes.popitem()[1].close()

    def _of(self, scope: Scope) -> ScopeIndex:
        """Return the index of `scope`, opening it and closing the one that was used least."""
        if os.getpid() != self._process:
            self._start()  # what the parent had open stays the parent's; closing it here would drop its locks
        with self._lock:
            index = self._scopes.get(scope)
            if index is None:
                index = self._open(scope)
                self._scopes[scope] = index
            self._scopes.move_to_end(scope)
            surplus = self._scopes.popitem(last=False)[1] if len(self._scopes) > self._settings.open_scopes else None
        if surplus is not None:
            self._background.retire(surplus)
        return index

    def _opened(self) -> dict[Scope, ScopeIndex]:
        with self._lock:
            return dict(self._scopes)

    def _open(self, scope: Scope) -> ScopeIndex:
        return ScopeIndex(
            self._source, scope, self._settings, self._monotonic, self._start_build, self._indexed, self._model
        )

    def _distrust(self, scope: Scope) -> None:
        with self._lock:
            index = self._scopes.get(scope)
        if index is not None:
            index.distrust()

    def _start_build(self, index: ScopeIndex) -> Future[None] | None:
        with self._lock:
            if self._stop.is_set():
                return None
            if self._builders is None:
                self._builders = ThreadPoolExecutor(BUILDERS, thread_name_prefix="index-build")
            return self._builders.submit(index.build, self._stop)


def _choose_model(semantic: str) -> MeaningModel | None:
    """Return the model that the setting asks for, None for words alone.

    Raises:
        ValueError: it must be there and isn't.
    """
    if semantic == "off":
        return None
    try:
        model = load_word_vectors()
    except (ImportError, OSError) as error:
        if semantic == "on":
            raise ValueError(f"The model of meaning can't be loaded: {error}") from error
        _log.warning("semantic_model_unusable", error=type(error).__name__)
        return None
    if model is None and semantic == "on":
        raise ValueError("semantic is on, but the package wordllama isn't installed.")
    return model
