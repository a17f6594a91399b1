"""Loads a server of its own with reads, searches, contexts, writes and whole turns, and draws what came of it.

`python -m bench.load` prints a table and writes a page; `make load` does the same. Single methods are loaded by `ghz`
with the configurations under `load/` where it is to be had, else by a Python client. Either looks at each call's gRPC
status. A turn is a sequence of four calls, of which `ghz` knows one: turns are always played by the Python client, and
`ghz` then sends the same four calls side by side, at the rate at which the turns came.
"""
