"""The metadata sidecar of one document: what was set on the document itself (contract 2.7), in a small JSON file.

A change of content and metadata together has one commit point, the document's rename. So the sidecar first says what
will hold then: `pending` metadata that counts if and only if the document's hash is the one named with it. Once the
document is in place the sidecar is settled; a crash in between is settled by the next change.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from ironclaw_memory.contract.document import NOTHING, Metadata
from ironclaw_memory.contract.path import DocumentPath

from .files import read_file, remove_file, replace_file
from .layout import sidecar_name

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A document's metadata as it is kept.

    Attributes:
        metadata: what holds unless `pending` does.
        pending_sha256: the hash of the document with which `pending` holds; empty when nothing is pending.
        pending: what holds then.
    """

    metadata: Metadata = field(default_factory=lambda: NOTHING)
    pending_sha256: str = ""
    pending: Metadata = field(default_factory=lambda: NOTHING)

    def resolve(self, sha256: Callable[[], str]) -> Metadata:
        """Return the metadata that holds; `sha256` is asked for the document's hash only if something is pending."""
        return self.pending if self.pending_sha256 and self.pending_sha256 == sha256() else self.metadata


ABSENT = Sidecar()


def load_sidecar(folder: int, path: DocumentPath) -> Sidecar:
    """Read a document's sidecar. One that can't be parsed counts as absent and is logged.

    Raises:
        OSError: it is there and can't be read.
    """
    found = read_file(sidecar_name(path), folder)
    if found is None:
        return ABSENT
    try:
        return _parse(json.loads(found[0]))
    except (ValueError, TypeError, KeyError, RecursionError):
        _log.warning("metadata_unreadable")
        return ABSENT


def _parse(kept: Any) -> Sidecar:
    metadata = kept["metadata"]
    pending = kept.get("pending")
    if not isinstance(metadata, dict):
        raise TypeError
    if pending is None:
        return Sidecar(metadata)
    if not isinstance(pending["metadata"], dict) or not isinstance(pending["sha256"], str):
        raise TypeError
    return Sidecar(metadata, pending["sha256"], pending["metadata"])


def keep_sidecar(folder: int, path: DocumentPath, sidecar: Sidecar) -> None:
    """Replace a document's sidecar; an empty one is removed. Durable when this returns.

    Raises:
        OSError: the old one or the new one is there, whole.
        FolderGone: the folder was removed.
    """
    if not sidecar.metadata and not sidecar.pending_sha256:
        remove_file(sidecar_name(path), folder)
        return
    kept: dict[str, Any] = {"path": path.text, "metadata": dict(sidecar.metadata)}
    if sidecar.pending_sha256:
        kept["pending"] = {"sha256": sidecar.pending_sha256, "metadata": dict(sidecar.pending)}
    replace_file(
        sidecar_name(path), json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n", folder
    )
