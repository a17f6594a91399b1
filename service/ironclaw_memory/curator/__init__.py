"""The reference curator: has a model tidy MEMORY.md, as any host of the service could.

It is a client like any other: it claims a curation, asks an OpenAI-compatible chat endpoint, checks what comes back and
completes or gives up the claim. It imports nothing of the service, and touches no data folder.

    problem.py        every way in which an answer or an endpoint fails, and what is said about it
    conversation.py   what the model is told
    answer.py         what its answer means, and whether it may be believed
    endpoint.py       one request over HTTP; the only place that knows the `openai` package
    curation.py       one owner's curation, from the claim to its end
"""
