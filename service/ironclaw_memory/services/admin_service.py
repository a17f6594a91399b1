"""`MemoryAdminService`: history, deletion, and a scope in numbers."""

from __future__ import annotations

import hashlib

import grpc

from ironclaw.memory.v1 import admin_service_pb2 as wire
from ironclaw.memory.v1 import admin_service_pb2_grpc as stubs
from ironclaw_memory.interceptors.call import current_call
from ironclaw_memory.memory.history import Historian
from ironclaw_memory.memory.stats import Statistician
from ironclaw_memory.services import messages


class MemoryAdminServicer(stubs.MemoryAdminServiceServicer):
    """Serves `ironclaw.memory.v1.MemoryAdminService`; each method is documented in the proto."""

    def __init__(
        self, historian: Historian, statistician: Statistician, document_limit: int, size_limit_bytes: int
    ) -> None:
        self._historian = historian
        self._statistician = statistician
        self._document_limit = document_limit
        self._size_limit_bytes = size_limit_bytes

    def ListVersions(  # noqa: N802
        self, request: wire.ListVersionsRequest, context: grpc.ServicerContext
    ) -> wire.ListVersionsResponse:
        """Return a page of versions, newest first."""
        del context
        page = self._historian.list_versions(current_call(), request.path, request.page_size, request.page_token)
        versions = [messages.version_message(version) for version in page.versions]
        return wire.ListVersionsResponse(versions=versions, next_page_token=page.next_page_token)

    def ReadVersion(  # noqa: N802
        self, request: wire.ReadVersionRequest, context: grpc.ServicerContext
    ) -> wire.ReadVersionResponse:
        """Return one version."""
        del context
        path, content = self._historian.read_version(current_call(), request.path, request.version)
        return wire.ReadVersionResponse(
            path=path,
            version=request.version,
            content=content.decode("utf-8"),
            content_sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
        )

    def RestoreVersion(  # noqa: N802
        self, request: wire.RestoreVersionRequest, context: grpc.ServicerContext
    ) -> wire.RestoreVersionResponse:
        """Make a version current again."""
        del context
        expected = request.expected_sha256 if request.HasField("expected_sha256") else None
        restored = self._historian.restore(current_call(), request.path, request.version, expected)
        return wire.RestoreVersionResponse(
            path=restored.path,
            version=restored.committed.version,
            content_length=restored.committed.size_bytes,
            content_sha256=restored.committed.sha256,
            replayed=restored.committed.replayed,
        )

    def DeleteDocument(  # noqa: N802
        self, request: wire.DeleteDocumentRequest, context: grpc.ServicerContext
    ) -> wire.DeleteDocumentResponse:
        """Delete a document."""
        del context
        expected = request.expected_sha256 if request.HasField("expected_sha256") else None
        kept_version, replayed = self._historian.delete(
            current_call(), request.path, expected, purge_versions=request.purge_versions
        )
        return wire.DeleteDocumentResponse(kept_version=kept_version, replayed=replayed)

    def GetScopeStats(  # noqa: N802
        self, request: wire.GetScopeStatsRequest, context: grpc.ServicerContext
    ) -> wire.GetScopeStatsResponse:
        """Describe the scope in numbers."""
        del request, context
        stats = self._statistician.describe(current_call())
        return messages.stats_response(stats, self._document_limit, self._size_limit_bytes)
