"""The arguments of the five tools: what they are, and how a model's JSON is read into them (contract 2.1-2.8).

Both ways in end in the same models: a gRPC handler fills one from its request, `InvokeTool` through `parse_...`, which
is lenient about everything that can be left out and strict about what decides where the call goes. What a value may be
beyond its type is in `argument_rules.py`; nothing here has passed those rules yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, SkipValidation

from .faults import InvalidArguments
from .target import ReservedTarget
from .tool_json import JsonObject, is_blank, read_count, read_flag, read_object, read_path, read_text

MAX_RESULTS: Final = 20
MAX_DEPTH: Final = 10

QUERY_NAMES: Final = ("query", "q", "text", "pattern")
"""What models call the query; the first one that isn't blank counts."""


class ToolId(StrEnum):
    """The five tools, in the order in which they are listed."""

    WRITE = "ironclaw.memory.write"
    READ = "ironclaw.memory.read"
    SEARCH = "ironclaw.memory.search"
    TREE = "ironclaw.memory.tree"
    PROFILE_SET = "ironclaw.memory.profile_set"


def _clamp(lowest: int, highest: int) -> AfterValidator:
    return AfterValidator(lambda count: max(lowest, min(count, highest)))


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WriteArguments(_Arguments):
    """What `write` is asked to do.

    Attributes:
        target: `memory`, `heartbeat`, `bootstrap`, `daily_log`, or a relative path.
        content: the text to append or to store; ignored by a patch and by `bootstrap`.
        append: whether to append rather than replace; `daily_log` always appends.
        old_string: the exact text to replace; None unless this is a patch.
        new_string: what takes its place; None unless this is a patch.
        replace_all: whether a patch changes every occurrence instead of the first.
        metadata: laid over the document's own metadata, key by key; None leaves that alone.
        timezone: IANA zone for the date of `daily_log`; None for the profile's.
        expected_sha256: 64 hex digits that the document must have now; only gRPC has it.
        must_not_exist: whether the write may only create; only gRPC has it.
    """

    target: str = ReservedTarget.DAILY_LOG.value
    content: str = ""
    append: bool = True
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    metadata: Annotated[dict[str, Any] | None, SkipValidation] = None  # check_write walks it whole
    timezone: Annotated[str, AfterValidator(str.strip)] | None = None
    expected_sha256: Annotated[str, AfterValidator(str.lower)] | None = None
    must_not_exist: bool = False

    @property
    def is_patch(self) -> bool:
        """Whether text inside the document is to be replaced; true once either side of a patch is there."""
        return self.old_string is not None or self.new_string is not None

    @property
    def is_bootstrap(self) -> bool:
        """Whether this empties `BOOTSTRAP.md`."""
        return self.target == ReservedTarget.BOOTSTRAP


class ReadArguments(_Arguments):
    """What `read` is asked for: the relative `path` of a document."""

    path: str


class SearchArguments(_Arguments):
    """What `search` is asked for.

    Attributes:
        query: any text; nothing in it is syntax.
        limit: the most results, 1 to 20; a value beyond is clamped.
        path_prefix: keeps results to paths that start with it; only gRPC has it.
        min_score: drops results below it, 0 to 1; only gRPC has it.
    """

    query: str
    limit: Annotated[int, _clamp(1, MAX_RESULTS)] = 5
    path_prefix: str = ""
    min_score: float = 0.0


class TreeArguments(_Arguments):
    """What `tree` is asked for: a folder (empty for the root) and how many levels to open, clamped to 1 to 10."""

    path: str = ""
    depth: Annotated[int, _clamp(1, MAX_DEPTH)] = 1


class ProfileSetArguments(_Arguments):
    """Facts about the human user to merge into the profile; None leaves a fact as it is.

    Attributes:
        timezone: IANA zone, trimmed.
        locale: BCP 47 tag.
        location: free text, trimmed.
    """

    timezone: Annotated[str, AfterValidator(str.strip)] | None = None
    locale: str | None = None
    location: Annotated[str, AfterValidator(str.strip)] | None = None


def parse_tool_id(text: str) -> ToolId:
    """Return the tool called `text`.

    Raises:
        InvalidArguments: there is no such tool.
    """
    try:
        return ToolId(text)
    except ValueError:
        known = ", ".join(ToolId)
        raise InvalidArguments(f"There is no such tool; the tools are {known}.", field="tool_id") from None


def parse_write(given: JsonObject) -> WriteArguments:
    """Read a model's arguments of `ironclaw.memory.write`.

    Raises:
        InvalidArguments: `target`, or `content` where it is needed, is no text; a text isn't valid Unicode.
        InvalidPath: `target` isn't valid Unicode.
    """
    target = read_path(given, "target")
    arguments = WriteArguments(
        target=ReservedTarget.DAILY_LOG.value if target is None else target,
        content=read_text(given, "content") or "",
        append=read_flag(given, "append", True),
        old_string=read_text(given, "old_string"),
        new_string=read_text(given, "new_string"),
        replace_all=read_flag(given, "replace_all", False),
        metadata=read_object(given, "metadata"),
        timezone=read_text(given, "timezone"),
    )
    if not (arguments.is_patch or arguments.is_bootstrap or isinstance(given.get("content"), str | None)):
        # Its default is blank and would be refused anyway; this says why.
        raise InvalidArguments("content must be a string; to store JSON, pass it as text.", field="content")
    return arguments


def parse_read(given: JsonObject) -> ReadArguments:
    """Read a model's arguments of `ironclaw.memory.read`.

    Raises:
        InvalidArguments: `path` is missing or no text, or an older version is asked for.
        InvalidPath: `path` isn't valid Unicode.
    """
    for key in ("version", "list_versions"):
        if given.get(key) is not None:
            # Ignoring it would pass off the present text as an older one.
            raise InvalidArguments(f"{key} isn't supported; only the present text can be read.", field=key)
    path = read_path(given, "path")
    if path is None:
        raise InvalidArguments("path is required.", field="path")
    return ReadArguments(path=path)


def parse_search(given: JsonObject) -> SearchArguments:
    """Read a model's arguments of `ironclaw.memory.search`.

    Raises:
        InvalidArguments: none of the names of the query holds text, or it isn't valid Unicode.
    """
    candidates = (read_text(given, name) for name in QUERY_NAMES)
    query = next((text for text in candidates if not is_blank(text)), None)
    if query is None:
        raise InvalidArguments("query is required and must not be blank.", field="query")
    return SearchArguments(query=query, limit=read_count(given, "limit", 5))


def parse_tree(given: JsonObject) -> TreeArguments:
    """Read a model's arguments of `ironclaw.memory.tree`.

    Raises:
        InvalidArguments: `path` is no text.
        InvalidPath: `path` isn't valid Unicode.
    """
    return TreeArguments(path=read_path(given, "path") or "", depth=read_count(given, "depth", 1))


def parse_profile_set(given: JsonObject) -> ProfileSetArguments:
    """Read a model's arguments of `ironclaw.memory.profile_set`, the one tool that isn't read leniently.

    Raises:
        InvalidArguments: a key is unknown, or a value is no text or not valid Unicode.
    """
    known = ProfileSetArguments.model_fields
    if not known.keys() >= given.keys():
        raise InvalidArguments("Only timezone, locale and location can be set; use ironclaw.memory.write for the rest.")
    for key, value in given.items():
        if not isinstance(value, str | None):
            raise InvalidArguments(f"{key} must be a string.", field=key)
    return ProfileSetArguments(**{key: read_text(given, key) for key in known})


Parse = Callable[[JsonObject], BaseModel]

PARSERS: Final[Mapping[ToolId, Parse]] = {
    ToolId.WRITE: parse_write,
    ToolId.READ: parse_read,
    ToolId.SEARCH: parse_search,
    ToolId.TREE: parse_tree,
    ToolId.PROFILE_SET: parse_profile_set,
}
