"""Full-text search over the documents of a scope: analysis, passages, ranking, and the rebuildable index on the disk.

Knows the store only as a `DocumentSource`. Start reading at `search`.
"""

from .query import (
    DocumentSource,
    IndexSettings,
    IndexStats,
    PassageHit,
    SearchAnswer,
    SearchHit,
    SearchQuery,
)
from .search import SearchIndex

__all__ = [
    "DocumentSource",
    "IndexSettings",
    "IndexStats",
    "PassageHit",
    "SearchAnswer",
    "SearchHit",
    "SearchIndex",
    "SearchQuery",
]
