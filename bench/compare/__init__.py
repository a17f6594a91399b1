"""The service beside what a user would pick instead: the same documents and questions, one machine, one run.

`python -m bench.compare` installs each rival in an environment of its own under `build/compare`, with pinned versions,
and runs them one after another. Three kinds of process take part: the parent measures, a driver in the rival's own
environment calls it (`driver`), and where the rival is a server, that is a third. What a rival is called by is its
adapter in `subjects`; nothing else knows its API. `docs/benchmarks.md` says what compares and what doesn't.
"""
