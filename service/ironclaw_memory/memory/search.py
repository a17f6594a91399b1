"""`search`: questions in plain words, answered from the scope's own index."""

from __future__ import annotations

from typing import Protocol

from ironclaw_memory.contract.argument_rules import check_search
from ironclaw_memory.contract.arguments import SearchArguments
from ironclaw_memory.contract.call import Call
from ironclaw_memory.contract.events import ChangeEvent, ChangeKind
from ironclaw_memory.contract.results import SearchHitResult, SearchResult
from ironclaw_memory.contract.scope import Scope
from ironclaw_memory.index.search import SearchAnswer, SearchQuery

SOURCE = "memory_service.search"


class SearchableIndex(Protocol):
    """What searching needs of the index."""

    def search(self, scope: Scope, query: SearchQuery) -> SearchAnswer:
        """See `index.search.SearchIndex.search`."""


class Searcher:
    """Searches the documents of one scope at a time."""

    def __init__(self, index: SearchableIndex) -> None:
        self._index = index

    def search(self, call: Call, arguments: SearchArguments) -> SearchResult:
        """Return the best documents, best first.

        Raises:
            InvalidArguments: the query is blank or exceeds 4,096 bytes.
        """
        check_search(arguments)
        query = SearchQuery(
            text=arguments.query,
            limit=arguments.limit,
            path_prefix=arguments.path_prefix,
            min_score=arguments.min_score,
        )
        answer = self._index.search(call.scope, query)
        call.changes.note(ChangeEvent(ChangeKind.SEARCHED, SOURCE, documents=len(answer.hits)))
        hits = tuple(
            SearchHitResult(
                content=hit.content, score=hit.score, path=hit.path.text, is_hybrid_match=hit.is_hybrid_match
            )
            for hit in answer.hits
        )
        return SearchResult(query=arguments.query, results=hits, documents_searched=answer.documents_searched)
