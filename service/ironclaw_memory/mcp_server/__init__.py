"""The Model Context Protocol in front of a running service, so that any MCP host can use the same memory.

It is a client like any other: each tool call becomes one `InvokeTool` of the service, in the scope that the operator
configured. It keeps nothing, decides nothing about texts, and has no way to the data folder; credentials, quotas,
safety checks and the audit trail are the service's.

    catalogue.py      the service's tools, and what to offer while the service can't be asked
    definitions.py    the tools as the protocol describes them
    answers.py        what the model is told of a call: the tool's output, or in plain words why there is none
    handlers.py       the protocol's requests: tools and prompts
    calls.py          a call of the service that the host may cancel
    standard_io.py    the transport to a host that started this process
    http.py           the transport for hosts that connect: streamable HTTP, guarded
"""
