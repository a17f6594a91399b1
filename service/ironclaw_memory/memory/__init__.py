"""What the tools do: write, read, search, tree, profile, history. Plain blocking Python.

Knows no gRPC and no file system: it decides, and asks the store, the index and the safety policy.
"""
