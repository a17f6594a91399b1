"""One request to an OpenAI-compatible chat endpoint. The only module that knows the `openai` package, an extra.

The package's own repeating is off: every request counts against the budget of model calls, and only `curation` knows
how much of the lease is left. Its client is used through asyncio, whose time limit is for the whole exchange: a limit
for each read would let an endpoint that sends a byte a second outlast any lease.

The answer's JSON is read by a model of our own, since "compatible" endpoints leave out what the package takes for
granted. Nothing of a request or an answer is logged or put into an exception's message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import BaseModel, Field, ValidationError

from .conversation import Message
from .problem import Problem, Unusable

EXTRA: Final = "pip install 'ironclaw-memory[curate]'"
"""What brings the package."""

LONGEST_PAUSE: Final = 300.0
"""A longer `retry-after` is nonsense or outlasts any lease."""

TRANSIENT: Final = frozenset((408, 409, 425, 429))
"""Statuses below 500 after which the same request may succeed."""


class PackageMissing(Exception):
    """The `openai` package isn't installed."""


class TryLater(Exception):
    """The endpoint can't answer now.

    Attributes:
        after: seconds that it asked to be left alone; None when it named none.
    """

    def __init__(self, after: float | None = None) -> None:
        super().__init__(after)
        self.after = after


class ChatModel(Protocol):
    """What a curation needs of a model."""

    def ask(self, messages: Sequence[Message], seconds: float) -> str:
        """Return the model's answer, by one request that takes at most `seconds`.

        Raises:
            TryLater: the same request may succeed later.
            Unusable: there is an answer, or a refusal, that ends or mends nothing by being repeated.
        """


class _ReplyMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


_UNFINISHED: Final = {"length": Problem.TRUNCATED, "content_filter": Problem.REFUSAL}
"""Finish reasons after which the text isn't the model's whole answer."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        base_url: such as `https://api.openai.com/v1`; the request goes to `/chat/completions` below it.
        model: the model's name there.
        api_key: sent as bearer token; never shown.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)

    def check(self) -> None:
        """Return when requests can be made.

        Raises:
            PackageMissing: the `openai` package isn't installed.
        """
        _load_package()

    def ask(self, messages: Sequence[Message], seconds: float) -> str:
        """Return the model's answer, by one request that takes at most `seconds`; see `ChatModel`."""
        return _text_of(asyncio.run(self._exchange(messages, seconds)))

    async def _exchange(self, messages: Sequence[Message], seconds: float) -> bytes:
        openai = _load_package()
        try:
            async with (
                asyncio.timeout(seconds),
                openai.AsyncOpenAI(
                    api_key=self.api_key, base_url=self.base_url, max_retries=0, timeout=seconds
                ) as client,
            ):
                sent: Any = list(messages)
                answer = await client.chat.completions.with_raw_response.create(model=self.model, messages=sent)
                return bytes(answer.content)
        except openai.APIStatusError as error:
            raise _failure_of(error.status_code, error.response.headers.get("retry-after")) from None
        except (TimeoutError, openai.APIConnectionError):
            raise TryLater from None
        except openai.OpenAIError:
            raise Unusable(Problem.ENDPOINT_REFUSED) from None


def _load_package() -> Any:
    try:
        import openai  # noqa: PLC0415  # an extra, and slow to import
    except ImportError:
        raise PackageMissing(f"The openai package is missing: {EXTRA}") from None
    for name in ("openai", "httpx2", "httpx"):  # at lower levels they log requests, the document included
        logging.getLogger(name).setLevel(logging.WARNING)
    return openai


def _failure_of(status: int, retry_after: str | None) -> Exception:
    if status < 500 and status not in TRANSIENT:
        return Unusable(Problem.ENDPOINT_REFUSED)
    try:
        return TryLater(min(max(0.0, float(retry_after or "")), LONGEST_PAUSE))
    except ValueError:
        return TryLater()


def _text_of(body: bytes) -> str:
    """Return the answer's text.

    Raises:
        TryLater: this is no chat completion; proxies in trouble send pages with status 200.
        Unusable: the model declined, or was cut off.
    """
    try:
        choice = _Completion.model_validate_json(body).choices[0]
    except ValidationError:
        raise TryLater from None
    if choice.message.refusal:
        raise Unusable(Problem.REFUSAL)
    if choice.finish_reason in _UNFINISHED:
        raise Unusable(_UNFINISHED[choice.finish_reason])
    return choice.message.content or ""
