"""basic-memory by its MCP tools, in the process of its server: a Markdown note a key, hybrid search, a file watch.

Its tools are coroutines. One event loop in a thread of its own runs the server and every call, as it would for a host
that speaks MCP over a pipe; what the pipe would cost is left out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import basic_memory.mcp.tools  # noqa: F401  # registers the tools
from basic_memory.config import init_mcp_logging
from basic_memory.index.local_schedulers import drain_background_tasks
from basic_memory.index.note_content_materialization import drain_pending_materializations
from basic_memory.mcp.server import mcp
from fastmcp import Client

from bench.compare.subjects import (
    ATTACK,
    NO,
    RESULTS,
    YES,
    Finding,
    Place,
    Subject,
    first_of_each,
    join_block,
)

CALL_SECONDS = 120.0
PROJECT = "main"
"""The project that the server opens with, and whose folder it watches from the start."""


class Server:
    """The MCP server with its lifespan, and a client within the process."""

    def __init__(self, folder: Path) -> None:
        os.environ["BASIC_MEMORY_CONFIG_DIR"] = str(folder / "state")
        os.environ["BASIC_MEMORY_HOME"] = str(folder / "projects" / PROJECT)
        init_mcp_logging()  # as its command does: to a file, at the level that is set
        logging.disable(logging.WARNING)
        (folder / "projects" / PROJECT).mkdir(parents=True, exist_ok=True)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._open = AsyncExitStack()
        self._client: Any = self.run(self._open.enter_async_context(Client(mcp)))

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the server's loop and return its outcome."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(CALL_SECONDS)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return its text.

        Raises:
            fastmcp.exceptions.ToolError: the tool failed.
        """
        answer = self.run(self._client.call_tool(tool, arguments))
        return str(answer.content[0].text)

    def drain(self) -> None:
        """Wait for files, index and vectors of what was accepted."""
        self.run(drain_pending_materializations())
        self.run(drain_background_tasks())

    def close(self) -> None:
        """End the server."""
        self.run(self._open.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)


class Memory(Subject):
    """The notes of one project."""

    languages = "any MCP host; a command line"

    def __init__(self, place: Place, server: Server | None = None, project: str = PROJECT) -> None:
        self._place, self._project = place, project
        self._server = server or Server(place.folder)
        self._home = place.folder / "projects" / project
        if project != PROJECT:
            self._home.mkdir(parents=True, exist_ok=True)
            self._server.call("create_memory_project", project_name=project, project_path=str(self._home))

    def _call(self, tool: str, **arguments: Any) -> str:
        return self._server.call(tool, project=self._project, **arguments)

    def put(self, key: str, text: str) -> None:
        """Write the note."""
        folder, _, title = key.rpartition("/")
        answer = json.loads(
            self._call("write_note", title=title, content=text, directory=folder, overwrite=True, output_format="json")
        )
        if answer.get("error"):
            raise RuntimeError(str(answer["error"]))

    def get(self, key: str) -> str:
        """Read the note."""
        answer = json.loads(self._call("read_note", identifier=f"{key}.md", output_format="json"))
        if answer.get("content") is None:
            raise KeyError(key)
        return str(answer["content"])

    def append(self, key: str, line: str) -> None:
        """Edit the note by its tool for that."""
        answer = json.loads(
            self._call("edit_note", identifier=key, operation="append", content=f"{line}\n", output_format="json")
        )
        if answer.get("error"):
            raise RuntimeError(str(answer["error"]))

    def _found(self, question: str) -> list[Any]:
        answer = self._call("search_notes", query=question, page_size=RESULTS, output_format="json")
        found: list[Any] = json.loads(answer)["results"]
        return found

    def search(self, question: str) -> list[str]:
        """Search notes."""
        return first_of_each(each["file_path"].removesuffix(".md") for each in self._found(question))

    def context(self, question: str) -> str:
        """Join what a search finds: the passage that matched where it tells one, else the note's text."""
        return join_block(each.get("matched_chunk") or each.get("content") or "" for each in self._found(question))

    def ask(self, question: str) -> tuple[list[str], str]:
        """Search once, for both."""
        found = self._found(question)
        keys = first_of_each(each["file_path"].removesuffix(".md") for each in found)
        return keys, join_block(each.get("matched_chunk") or each.get("content") or "" for each in found)

    def settle(self) -> None:
        """Wait for its background work."""
        self._server.drain()

    def edit_by_hand(self, key: str, text: str) -> None:
        """Write the note's file below its front matter."""
        file = self._home / f"{key}.md"
        front = file.read_text("utf-8").split("---\n", 2)[1]
        file.write_text(f"---\n{front}---\n\n{text}", "utf-8")

    def as_user(self, user: str) -> Memory:
        """Take another project."""
        return Memory(self._place, self._server, user)

    def probe_tenants(self) -> Finding:
        """Read and search another project's note by naming it."""
        self.put("private/plan", "The vault code is heliotrope.")
        self.settle()
        other = self.as_user("somebody-else")
        own = "heliotrope" in other.context("vault code heliotrope")
        named = self._server.call("read_note", identifier="private/plan", project=self._project)
        everywhere = self._server.call(
            "search_notes", query="heliotrope", search_all_projects=True, output_format="json"
        )
        leaks = own or "heliotrope" in named or "heliotrope" in everywhere
        return Finding(
            NO if leaks else YES, "a project is an argument of the call: any caller reads any, or all at once"
        )

    def probe_attack(self) -> Finding:
        """Write it and ask for a context."""
        self.put("inbox/mail", ATTACK)
        self.settle()
        reaches = "Ignore all previous" in self.context("developer mode system prompt")
        return Finding(NO if reaches else YES, "stored and returned as it is")

    def probe_history(self) -> Finding:
        """Replace a note, and look for a file that still has the old text."""
        self.put("history/note", "the first wording")
        self.settle()
        self.put("history/note", "the second wording")
        self.settle()
        kept = any("the first wording" in file.read_text("utf-8") for file in self._home.rglob("*.md"))
        return Finding(YES if kept else NO, "no tool for earlier texts; the files can be put under version control")

    def probe_retry(self) -> Finding:
        """Send one append twice."""
        self.put("retry/note", "start\n")
        for _ in range(2):
            self.append("retry/note", "once more")
        times = self.get("retry/note").count("once more")
        return Finding(YES if times == 1 else NO, f"no request ids; an append sent twice: {times} times in the text")

    def close(self) -> None:
        """End the server."""
        self._server.close()
