"""Benchmarks and load: what the service costs, in ratios that mean something on another machine too.

Nothing here is part of the product. `python -m bench` measures and compares, `python -m bench.load` loads a server with
mixed turns, `python -m bench.server_model` decides between threads and asyncio. `docs/benchmarks.md` has the method.
"""
