"""The five tools as shell commands: a client of a running server, which never touches the data folder itself.

Standard output is the answer: text for people, or with `--json` exactly the tool's output on one line. Standard error
is everything else. Exit codes: 0 done, 1 refused (`REASON: sentence`), 2 wrong usage, 3 the server can't be reached or
can't do it now.
"""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import click

from .connection import EXIT_CODES, Connection, connected
from .terminal import TreeJson, draw, say, say_document

Output = dict[str, Any]


class TextCommand(click.Command):
    """A command whose argument may begin with `- `, as a list item does: that is text, never an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--` before a list item that stands where the argument does."""
        takes_value = {name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
        for before, argument in zip(["", *args], args, strict=False):
            if argument == "--":
                break
            if argument.startswith("- ") and before not in takes_value:
                others = list(args)
                others.remove(argument)
                args = [*others, "--", argument]
                break
        return super().parse_args(ctx, args)


def _json_object(_ctx: click.Context, _param: click.Parameter, value: str | None) -> dict[str, object] | None:
    """Return an option's JSON object."""
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        raise click.BadParameter("This isn't JSON.") from None
    if not isinstance(parsed, dict):
        raise click.BadParameter("This isn't a JSON object.")
    return parsed


@click.command("write", cls=TextCommand, epilog=EXIT_CODES)
@click.argument("content", required=False)
@click.option(
    "-t",
    "--target",
    metavar="TARGET",
    help="memory, heartbeat, bootstrap (empties it), daily_log (the default), or a relative path.",
)
@click.option("--replace", is_flag=True, help="Replace the document instead of appending to it.")
@click.option("--old", metavar="TEXT", help="Patch: the exact text to be replaced.")
@click.option("--new", metavar="TEXT", help="Patch: what stands in its place.")
@click.option("--all", "replace_all", is_flag=True, help="Patch every occurrence instead of the first.")
@click.option(
    "--metadata", callback=_json_object, metavar="JSON", help="Laid over the document's metadata, key by key."
)
@click.option("--timezone", metavar="ZONE", help="IANA zone whose date names the daily log.")
@connected
def write(  # the tool's arguments
    connection: Connection,
    *,
    content: str | None,
    target: str | None,
    replace: bool,
    old: str | None,
    new: str | None,
    replace_all: bool,
    metadata: dict[str, object] | None,
    timezone: str | None,
) -> None:
    """Append CONTENT to a document, or replace or patch the document.

    CONTENT is the text, or - to read it from standard input.
    """
    patches = old is not None or new is not None
    if patches and (content is not None or replace):
        raise click.UsageError("A patch takes --old and --new, and neither CONTENT nor --replace.")
    if replace_all and not patches:
        raise click.UsageError("--all belongs to a patch: give --old and --new.")
    if content is None and not patches and target != "bootstrap":
        raise click.UsageError("Give CONTENT, or - to read it from standard input.")
    arguments = {
        "target": target,
        "content": _standard_input() if content == "-" else content,
        "append": False if replace else None,
        "old_string": old,
        "new_string": new,
        "replace_all": replace_all or None,
        "metadata": metadata,
        "timezone": timezone,
    }
    connection.run("write", arguments, _show_written)


def _standard_input() -> str:
    """Return standard input byte for byte, line ends included."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise click.UsageError("Standard input isn't valid UTF-8.") from None


def _show_written(output: Output) -> None:
    path, size = output["path"], output["content_length"]
    if output["status"] == "cleared":
        say(output["message"])
    elif output["status"] == "patched":
        count = output["replacements"]
        say(f"Patched {path}, {count} replacement{'' if count == 1 else 's'}, {size} bytes.")
    else:
        say(f"Written {path}, {size} bytes.")


@click.command("read", epilog=EXIT_CODES)
@click.argument("path")
@connected
def read(connection: Connection, *, path: str) -> None:
    """Print the document PATH: as it is into a pipe or file, without control characters to a terminal."""
    connection.run("read", {"path": path}, lambda output: say_document(output["content"]))


@click.command("search", cls=TextCommand, epilog=EXIT_CODES)
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 20), metavar="N", help="The most results, 1 to 20; 5 by default.")
@connected
def search(connection: Connection, *, query: str, limit: int | None) -> None:
    """Find the documents that match QUERY, in plain words, best first."""
    connection.run("search", {"query": query, "limit": limit}, _show_results)


def _show_results(output: Output) -> None:
    if not output["results"]:
        say("Nothing found.", err=True)
    for result in output["results"]:
        say(f"{result['score']:.2f}  {result['path']}")
        for line in result["content"].rstrip("\n").split("\n"):
            say(f"      {line}".rstrip())


@click.command("tree", epilog=EXIT_CODES)
@click.argument("path", required=False)
@click.option(
    "--depth", type=click.IntRange(1, 10), metavar="N", help="How many levels to open, 1 to 10; 1 by default."
)
@connected
def tree(connection: Connection, *, path: str | None, depth: int | None) -> None:
    """Draw what is in the folder PATH, or in the scope."""
    connection.run("tree", {"path": path, "depth": depth}, _show_tree)


def _show_tree(output: object) -> None:
    if not output:
        say("Nothing here.", err=True)
    for line in draw(cast("TreeJson", output)):
        say(line)


@click.command("profile-set", epilog=EXIT_CODES)
@click.option("--timezone", metavar="ZONE", help="IANA zone, such as Asia/Shanghai.")
@click.option("--locale", metavar="TAG", help="BCP 47 tag, such as zh-CN.")
@click.option("--location", metavar="TEXT", help="Free text, such as 'Shanghai, CN'.")
@connected
def profile_set(connection: Connection, **facts: str | None) -> None:
    """Set facts about the user; what isn't given stays as it is."""
    if not any(value is not None for value in facts.values()):
        raise click.UsageError("Give at least one of --timezone, --locale and --location.")
    connection.run("profile_set", facts, lambda _output: say("Profile set."))
