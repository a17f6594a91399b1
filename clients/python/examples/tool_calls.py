"""A conversation in which a model uses its memory, with the model's side written down instead of asked for.

    python tool_calls.py 127.0.0.1:50051

Replace `REPLIES` by calls of your model API: send it `tools` and `messages`, and handle what it answers as here.
"""

from __future__ import annotations

import sys
from typing import Any

from ironclaw_memory_client import MemoryClient, Scope, system_prompt, tools_for_openai

REPLIES: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "call_1",
                "function": {
                    "name": "ironclaw_memory_write",
                    "arguments": '{"target": "memory", "content": "User is allergic to peanuts."}',
                },
            },
            {
                "id": "call_2",
                "function": {"name": "ironclaw_memory_search", "arguments": '{"query": "allergies"}'},
            },
        ],
    },
    {"role": "assistant", "content": "Noted: no peanuts."},
]


def answer_tool_calls(client: MemoryClient, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the tools that the model asked for, in order, and return their messages.

    What the model did wrong goes back to it in words; an outage is an exception, for the host to handle.
    """
    return [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": client.invoke(call["function"]["name"], call["function"]["arguments"]).for_model(),
        }
        for call in reply.get("tool_calls", ())
    ]


def converse(client: MemoryClient, question: str) -> list[dict[str, Any]]:
    """Return the messages of one exchange."""
    catalogue = client.list_tools()
    tools = tools_for_openai(catalogue.tools)
    system = system_prompt(catalogue, with_prompts=True)
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    for reply in REPLIES:  # reply = model(messages, tools)
        messages += [reply, *answer_tool_calls(client, reply)]
    offered = {tool["function"]["name"] for tool in tools}
    called = {call["function"]["name"] for reply in REPLIES for call in reply.get("tool_calls", ())}
    print(f"The model called {len(called)} of {len(offered)} tools.")  # noqa: T201
    return messages


def main() -> None:
    """Hold the conversation with the server that the command line names."""
    target = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
    with MemoryClient(target, Scope(tenant="example", user="ann", thread="chat-1")) as client:
        for message in converse(client, "I can't eat peanuts.")[1:]:
            print(message["role"], message.get("content") or message.get("tool_calls"))  # noqa: T201


if __name__ == "__main__":
    main()
