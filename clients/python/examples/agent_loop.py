"""One turn of an agent with a memory: what it remembers goes into the prompt, the model calls tools, the turn is kept.

    python agent_loop.py 127.0.0.1:50051

The model's side is written down in `scripted_model`. Call your model API there, with the same messages and tools.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from typing import Any

from ironclaw_memory_client import (
    InteractionMessage,
    MemoryClient,
    Scope,
    ToolCatalogue,
    system_prompt,
    tools_for_openai,
)

QUESTION = "I can't eat peanuts. Any idea for dinner?"
CALLS = (
    ("ironclaw_memory_write", '{"target": "memory", "content": "User is allergic to peanuts."}'),
    ("ironclaw_memory_search", '{"query": "what may the user not eat?"}'),
)
ANSWER = "Noted: no peanuts. How about a mushroom risotto?"


def scripted_model() -> Iterator[dict[str, Any]]:
    """Yield what a model might answer, one message for each time it is asked."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(CALLS)
    ]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "assistant", "content": ANSWER}


def begin_turn(client: MemoryClient, catalogue: ToolCatalogue, question: str) -> list[dict[str, Any]]:
    """Return the messages that a turn starts with: what memory adds stands right before the user's words."""
    context = client.retrieve_context(question)
    print(f"context: {len(context.snippets)} snippets")  # noqa: T201
    system = system_prompt(catalogue, with_prompts=True)
    return [
        {"role": "system", "content": f"{system}\n\n{context.block}"},
        {"role": "user", "content": question},
    ]


def answer_tool_calls(client: MemoryClient, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the tools that the model asked for, in order, and return their messages.

    What the model did wrong goes back to it in words; an outage is an exception, for the host to handle.
    """
    messages = []
    for call in reply.get("tool_calls", ()):
        function = call["function"]
        result = client.invoke(function["name"], function["arguments"])
        print(f"{function['name']}: {'refused' if result.error else 'ok'}")  # noqa: T201
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result.for_model()})
    return messages


def run_turn(client: MemoryClient, question: str) -> str:
    """Answer one question and return the answer."""
    catalogue = client.list_tools()
    tools = tools_for_openai(catalogue.tools)
    print(f"tools: {len(tools)}")  # noqa: T201
    messages = begin_turn(client, catalogue, question)
    reply: dict[str, Any] = {}
    for reply in scripted_model():  # while True: reply = model(messages, tools)
        messages += [reply, *answer_tool_calls(client, reply)]
    answer = str(reply["content"])
    exchange = [InteractionMessage("user", question), InteractionMessage("assistant", answer)]
    recorded = client.record_interaction(exchange, turn_run_id=str(uuid.uuid4()))
    print(f"recorded: {recorded.recorded}, curation due: {recorded.curation_due}")  # noqa: T201
    return answer


def main() -> None:
    """Run one turn with the server that the command line names."""
    target = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
    with MemoryClient(target, Scope(tenant="example", user="ann", thread="chat-1")) as client:
        print(run_turn(client, QUESTION))  # noqa: T201


if __name__ == "__main__":
    main()
