"""What a host hands to a model, served as it lies in `schemas/` and `prompts/`: the five tools, the curation guide.

The files are the one source. A wheel carries them inside the package; in a checkout they lie at the repository's root.
Nothing here interprets a schema: `contract/arguments.py` reads arguments, and a test holds the two together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .contract.arguments import ToolId

_PACKAGE: Final = Path(__file__).parent
_ROOTS: Final = (_PACKAGE, _PACKAGE.parent.parent)
"""Where `schemas/` and `prompts/` are: beside this file in a wheel, two levels up in a checkout."""

_GUIDANCE: Final = "prompts/memory-guidance.md"
_CURATION_PROMPT: Final = "prompts/memory-curation.md"
_CURATION_REPORT: Final = "schemas/memory/curation-report.v1.json"


@dataclass(frozen=True, slots=True)
class _Files:
    schema: str
    prompt: str
    writes: bool


_TOOLS: Final = {
    ToolId.WRITE: _Files("document-write", "memory-write.md", writes=True),
    ToolId.READ: _Files("document-read", "memory-read.md", writes=False),
    ToolId.SEARCH: _Files("document-search", "memory-search.md", writes=False),
    ToolId.TREE: _Files("document-tree", "memory-tree.md", writes=False),
    ToolId.PROFILE_SET: _Files("profile-set", "memory-profile-set.md", writes=True),
}


class CatalogError(RuntimeError):
    """The installation lacks a schema or a prompt, or has a broken one; the server must not start.

    Attributes:
        name: the file's name below `schemas/` or `prompts/`.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} {problem}; reinstall ironclaw-memory.")
        self.name = name


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """One tool.

    Attributes:
        id: its name.
        description: one sentence, the `description` of its input schema.
        input_schema_json: JSON Schema of its arguments, the file's text.
        output_schema_json: JSON Schema of its result, the file's text.
        prompt: Markdown that tells a model when and how to call it.
        writes: whether it changes documents.
    """

    id: ToolId
    description: str
    input_schema_json: str
    output_schema_json: str
    prompt: str
    writes: bool


@dataclass(frozen=True, slots=True)
class Catalog:
    """What `ListTools` answers.

    Attributes:
        tools: write, read, search, tree, profile_set.
        guidance: Markdown for the system prompt.
    """

    tools: tuple[ToolDescription, ...]
    guidance: str


@dataclass(frozen=True, slots=True)
class CurationGuide:
    """What `ClaimCuration` hands out with the text.

    Attributes:
        prompt: Markdown that tells a model how to tidy `MEMORY.md`.
        report_schema_json: JSON Schema of the report that it ends with, the file's text.
    """

    prompt: str
    report_schema_json: str


def load_catalog(roots: tuple[Path, ...] = _ROOTS) -> Catalog:
    """Read every schema and prompt; called once, when the server is assembled.

    Args:
        roots: folders that may hold `schemas/` and `prompts/`; for each file the first that has it counts.

    Raises:
        CatalogError: a file is missing, isn't UTF-8, or is no JSON Schema with a description.
    """
    tools = tuple(_describe(tool, files, roots) for tool, files in _TOOLS.items())
    return Catalog(tools, _read(roots, _GUIDANCE))


def load_curation_guide(roots: tuple[Path, ...] = _ROOTS) -> CurationGuide:
    """Read the curation's prompt and the schema of its report; called once, like `load_catalog`.

    Raises:
        CatalogError: a file is missing, isn't UTF-8, or is no JSON Schema with a description.
    """
    schema = _read(roots, _CURATION_REPORT)
    _description_of(schema, _CURATION_REPORT)
    return CurationGuide(_read(roots, _CURATION_PROMPT), schema)


def _describe(tool: ToolId, files: _Files, roots: tuple[Path, ...]) -> ToolDescription:
    input_name = f"schemas/memory/{files.schema}.input.v1.json"
    output_name = f"schemas/memory/{files.schema}.output.v1.json"
    input_schema = _read(roots, input_name)
    output_schema = _read(roots, output_name)
    _description_of(output_schema, output_name)
    return ToolDescription(
        id=tool,
        description=_description_of(input_schema, input_name),
        input_schema_json=input_schema,
        output_schema_json=output_schema,
        prompt=_read(roots, f"prompts/{files.prompt}"),
        writes=files.writes,
    )


def _description_of(schema_json: str, name: str) -> str:
    try:
        return str(json.loads(schema_json)["description"])
    except (ValueError, KeyError, TypeError):
        raise CatalogError(name, "is no JSON Schema with a description") from None


def _read(roots: tuple[Path, ...], name: str) -> str:
    for root in roots:
        try:
            return (root / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError):
            raise CatalogError(name, "can't be read") from None
    raise CatalogError(name, "is missing")
