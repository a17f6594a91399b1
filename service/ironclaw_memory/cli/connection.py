"""Where a shell command's call goes: the options that all commands share, and each way of failing as an exit code."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, TypeVar

import click

from ironclaw_memory_client import (
    TLS,
    AsyncMemoryClient,
    DeadlineExceededError,
    InvokeResult,
    MemoryClient,
    MemoryServiceError,
    Scope,
    UnavailableError,
    UnreachableError,
)
from ironclaw_memory_client.credentials import credential_metadata

from .terminal import json_line, say

EXIT_CODES = "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the server can't be reached or can't do it now."

TOKEN_VARIABLE = "IRONCLAW_MEMORY_TOKEN"  # noqa: S105  # where one is

Client = TypeVar("Client", MemoryClient, AsyncMemoryClient)

CONNECTION = (
    click.option(
        "--server",
        envvar="IRONCLAW_MEMORY_SERVER",
        show_envvar=True,
        default="127.0.0.1:50051",
        show_default=True,
        metavar="TARGET",
        help="Where the server listens: host:port, or unix:/path/of/socket.",
    ),
    click.option(
        "--tenant",
        envvar="IRONCLAW_MEMORY_TENANT",
        show_envvar=True,
        default="local",
        show_default=True,
        help="Whose memory: the tenant.",
    ),
    click.option(
        "--user",
        envvar="IRONCLAW_MEMORY_USER",
        show_envvar=True,
        default="me",
        show_default=True,
        help="Whose memory: the user.",
    ),
    click.option(
        "--agent",
        envvar="IRONCLAW_MEMORY_AGENT",
        show_envvar=True,
        help="Whose memory: the agent. Without one, what belongs to no agent.",
    ),
    click.option(
        "--project",
        envvar="IRONCLAW_MEMORY_PROJECT",
        show_envvar=True,
        help="Whose memory: the project. Without one, what belongs to no project.",
    ),
    click.option(
        "--ca",
        envvar="IRONCLAW_MEMORY_CA",
        show_envvar=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="The authorities to trust (PEM); connects over TLS. A token is read from IRONCLAW_MEMORY_TOKEN.",
    ),
    click.option(
        "--certificate",
        envvar="IRONCLAW_MEMORY_CERTIFICATE",
        show_envvar=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="A certificate of one's own (PEM), with --ca and --private-key.",
    ),
    click.option(
        "--private-key",
        envvar="IRONCLAW_MEMORY_PRIVATE_KEY",
        show_envvar=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Its key (PEM).",
    ),
    click.option(
        "--deadline",
        type=click.FloatRange(min=0, min_open=True),
        default=10.0,
        show_default=True,
        metavar="SECONDS",
        help="Give up after this time.",
    ),
)
"""The options that every command has, in the order of its help."""

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print exactly the output, as JSON on one line.")
"""What a command has besides, when it prints an output."""


class Refused(click.ClickException):
    """The service refused the call."""

    exit_code = 1

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002  # click's signature
        """Print `REASON: sentence` to standard error, without click's own prefix."""
        say(self.message, err=True)


class Unavailable(Refused):
    """The server can't be reached, or can't do it now."""

    exit_code = 3


@contextmanager
def failures_said(server: str) -> Iterator[None]:
    """Turn what the client raises in the block into what a command ends with.

    Raises:
        Refused: the service refused.
        Unavailable: the server can't be reached, or can't do it now.
    """
    try:
        yield
    except UnreachableError as error:
        raise Unavailable(error.code.name, f"{server} can't be reached: {error.message}") from None
    except (UnavailableError, DeadlineExceededError) as error:
        raise Unavailable(error.reason or error.code.name, error.message) from None
    except MemoryServiceError as error:
        raise Refused(error.reason or error.code.name, error.message) from None
    except UnicodeEncodeError:
        raise click.UsageError("An argument isn't valid UTF-8.") from None


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a command's call goes, and how its answer is printed."""

    server: str
    scope: Scope
    deadline: float
    as_json: bool = False
    tls: TLS | None = None

    def open(self) -> MemoryClient:
        """Return a client. Its token comes from the environment alone: a command line is for all to read.

        Raises:
            click.UsageError: the token is none, or can't be sent there.
        """
        return self._open(MemoryClient)

    def open_async(self) -> AsyncMemoryClient:
        """Return the same for asyncio, to be used on the loop that runs now.

        Raises:
            click.UsageError: the token is none, or can't be sent there.
        """
        return self._open(AsyncMemoryClient)

    def _open(self, client: type[Client]) -> Client:
        token = os.environ.get(TOKEN_VARIABLE) or None
        try:
            credential_metadata(token)
            return client(self.server, self.scope, token=token, tls=self.tls, deadline=self.deadline)
        except ValueError as error:
            raise click.UsageError(f"{TOKEN_VARIABLE}: {error}") from None

    def run(self, tool: str, arguments: Mapping[str, object], show: Callable[[Any], None]) -> None:
        """Run a tool and print its output, by `show` for people; an argument that is None isn't sent.

        Raises:
            Refused: the service refused.
            Unavailable: the server can't be reached, or can't do it now.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        result = self._invoke(tool, json.dumps(given, ensure_ascii=False))
        output = json.loads(result.output_json)
        if self.as_json:
            say(json_line(output))
        else:
            show(output)
        for advisory in result.advisories:
            say(f"Advice: {advisory.message}", err=True)

    def _invoke(self, tool: str, arguments_json: str) -> InvokeResult:
        with failures_said(self.server), self.open() as client:
            result = client.invoke(f"ironclaw.memory.{tool}", arguments_json)
        if result.error is not None:
            raise Refused(result.error.reason, result.error.message)
        return result


def _tls(ca: str | None, certificate: str | None, private_key: str | None) -> TLS | None:
    if not (ca or certificate or private_key):
        return None
    try:
        return TLS.from_files(ca, private_key=private_key, certificate_chain=certificate)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"TLS: {error}") from None


def connected(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the table above and `--json`, and hand it a `Connection` in their place."""
    return connected_silently(AS_JSON(function))


def connected_silently(function: Callable[..., None]) -> Callable[..., None]:
    """Do the same for a command that has no output to print as JSON."""

    @functools.wraps(function)
    def run(**given: Any) -> None:  # what click collected
        scope = Scope(given.pop("tenant"), given.pop("user"), given.pop("agent"), given.pop("project"))
        tls = _tls(given.pop("ca"), given.pop("certificate"), given.pop("private_key"))
        server, deadline, as_json = given.pop("server"), given.pop("deadline"), given.pop("as_json", False)
        function(Connection(server, scope, deadline, as_json, tls), **given)

    for option in reversed(CONNECTION):
        run = option(run)
    return run
