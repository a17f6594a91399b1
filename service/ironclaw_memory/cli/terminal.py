"""How the shell commands speak: in UTF-8 whatever the locale, and without letting stored text drive a terminal.

Stored text is other people's text. Its control characters could move the cursor, retitle the window or hide a line, so
what a person reads has them replaced. JSON keeps them as escapes. Only a document on its way into a pipe or a file is
byte for byte what is stored.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import click

TreeJson: TypeAlias = "Sequence[str | dict[str, TreeJson]]"
"""The output of the tree tool: a text is a document or an unopened folder, an object a folder with what is in it."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # C0 but tab and newline, DEL, and C1, which UTF-8 carries too


def printable(text: str) -> str:
    """Return the text with control characters replaced."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def json_line(value: object) -> str:
    """Return JSON on one line, with every control character escaped: `json` does C0, and this the others."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _CONTROLS.sub(lambda control: f"\\u{ord(control.group()):04x}", text)


def say(text: str, *, err: bool = False) -> None:
    """Print a line that a person reads, or a program as JSON."""
    _put(printable(text).encode("utf-8", "backslashreplace") + b"\n", err=err)


def say_document(text: str) -> None:
    """Print a document: as it is into a pipe or file, as a person may read it to a terminal."""
    if sys.stdout.isatty():
        say(text.removesuffix("\n"))
    else:
        _put(text.encode("utf-8"))


def _put(text: bytes, *, err: bool = False) -> None:
    """Write and flush; a reader that went away is click's affair, a full disk is said in a sentence."""
    try:
        click.echo(text, nl=False, err=err)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise click.ClickException(f"The output can't be written: {error.strerror}.") from None


def draw(entries: TreeJson, indent: str = "") -> Iterator[str]:
    """Yield a line for each entry of a tree, folders before what is in them."""
    for position, entry in enumerate(entries, start=1):
        elbow, bar = ("└── ", "    ") if position == len(entries) else ("├── ", "│   ")
        opened = {entry: ()} if isinstance(entry, str) else entry
        for name, children in opened.items():
            yield f"{indent}{elbow}{name}"
            yield from draw(children, indent + bar)
