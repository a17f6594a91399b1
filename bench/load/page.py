"""Writes the loads' results as one page of HTML: no script, nothing from elsewhere, light or dark as it is read."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

import grpc

from bench import report
from bench.load.drawing import Bar, Span, draw_bars, draw_spans
from bench.load.loads import Result

STYLE: Final = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b2130; --soft: #5d6678; --line: #e3e6ec;
  --track: #eef0f4; --good: #1d7f4f; --bad: #c0362c; --s0: #2f6fde; --s1: #e0862b; --s2: #1f9d8a; --s3: #9257c9; }
@media (prefers-color-scheme: dark) { :root { --page: #11141b; --card: #1a1f2a; --ink: #e8ebf2; --soft: #98a2b5;
  --line: #2b3242; --track: #242b39; --good: #56c490; --bad: #ff7b70; --s0: #6da0ff; --s1: #f5ab5c; --s2: #4fd0bb;
  --s3: #c193f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 32px 20px 48px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0; } p { margin: 0; color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(500px, 100%), 1fr)); gap: 16px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px 20px 14px;
  min-width: 0; }
.card p { font-size: 13px; margin-bottom: 10px; } .wide { grid-column: 1 / -1; overflow-x: auto; }
.legend { display: flex; flex-wrap: wrap; gap: 18px; margin: 18px 0; font-weight: 600; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
svg { display: block; width: 100%; height: auto; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
svg text { fill: var(--ink); } svg .soft { fill: var(--soft); font-size: 12px; } svg .name { font-weight: 600; }
svg .value { font-weight: 600; font-variant-numeric: tabular-nums; } svg .track { fill: var(--track); }
svg .grid { stroke: var(--line); } svg .span { stroke-width: 3; stroke-linecap: round; opacity: .45; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); } .s3 { --c: var(--s3); }
svg .fill { fill: var(--c); } svg .edge { stroke: var(--c); } svg .hollow { fill: var(--card); stroke-width: 2; }
.legend i { background: var(--c); }
.verdict { font-size: 15px; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } tbody th { color: var(--ink); }
th:first-child, td.left, th.left { text-align: left; } tr:last-child > * { border-bottom: 0; }
"""

SERIES: Final = 4
"""Colours there are; more numbers of workers share them."""


def write_page(path: Path, results: Sequence[Result], seconds: float, clients: int) -> None:
    """Write the page, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_page(results, seconds, clients), "utf-8")


def make_page(results: Sequence[Result], seconds: float, clients: int) -> str:
    """Return the page's text."""
    cards = "".join((_throughput(results), _latencies(results), _cpu(results), _memory(results), _errors(results)))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, grpcio {grpc.__version__}"
    head = f"{clients} clients, {seconds:g} seconds a load, server and clients on one machine ({machine})"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ironclaw-memory under load</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>ironclaw-memory under load</h1>\n<p>{escape(head)}</p>\n"
        f'{_legend(results)}<main class="cards">\n{cards}{_table(results)}</main>\n</body>\n</html>\n'
    )


def _legend(results: Sequence[Result]) -> str:
    entries = (
        f'<span class="{_colour(results, workers)}"><i></i>{workers} worker{"s" if workers > 1 else ""}</span>'
        for workers in _workers(results)
    )
    return f'<div class="legend">{"".join(entries)}</div>\n'


def _workers(results: Sequence[Result]) -> list[int]:
    return list(dict.fromkeys(result.workers for result in results))


def _colour(results: Sequence[Result], workers: int) -> str:
    return f"s{_workers(results).index(workers) % SERIES}"


def _grouped(results: Sequence[Result]) -> dict[str, list[Result]]:
    return {name: [r for r in results if r.load == name] for name in dict.fromkeys(r.load for r in results)}


def _card(title: str, note: str, inside: str, more: str = "") -> str:
    return f'<section class="card{more}">\n<h2>{title}</h2>\n<p>{note}</p>\n{inside}\n</section>\n'


def _throughput(results: Sequence[Result]) -> str:
    groups = {}
    for name, rows in _grouped(results).items():
        most, first = max(r.taken.rate for r in rows), rows[0].taken.rate
        groups[name] = [
            Bar(
                r.taken.rate / most,
                report.figure(r.taken.rate),
                _offer(r) if r.offered else f"× {r.taken.rate / first:.2f}" if r is not rows[0] else "",
                _colour(results, r.workers),
            )
            for r in rows
        ]
    note = "Answered calls, or whole turns, a second. Each load has its own scale: compare the bars within a load."
    return _card("Throughput", note, draw_bars("Throughput by load and workers", groups))


def _offer(result: Result) -> str:
    return f"of {report.figure(result.offered)} offered"


def _latencies(results: Sequence[Result]) -> str:
    groups = {
        name: [
            Span(*(us / 1e3 for us in (r.taken.p50_us, r.taken.p95_us, r.taken.p99_us)), _colour(results, r.workers))
            for r in rows
        ]
        for name, rows in _grouped(results).items()
    }
    note = (
        "Milliseconds, logarithmic: ● half of the calls or turns, ○ 95 and ○ 99 of 100. Side by side, of single calls."
    )
    return _card("Latency", note, draw_spans("Latency percentiles by load and workers", groups))


def _cpu(results: Sequence[Result]) -> str:
    most = max(r.server_us for r in results)
    groups = {
        name: [
            Bar(r.server_us / most, _microseconds(r.server_us), f"{r.server_cores:.0%}", _colour(results, r.workers))
            for r in rows
        ]
        for name, rows in _grouped(results).items()
    }
    note = "What a call or turn takes of the server; beside it, the load of all workers in percent of one core."
    return _card("Server CPU", note, draw_bars("Server CPU by load and workers", groups))


def _microseconds(value: float) -> str:
    return f"{value / 1e3:.1f} ms" if value >= 1e3 else f"{value:.0f} µs"


def _memory(results: Sequence[Result]) -> str:
    most = max(r.peak_mib for r in results)
    groups = {
        name: [Bar(r.peak_mib / most, f"{r.peak_mib:.0f} MiB", "", _colour(results, r.workers)) for r in rows]
        for name, rows in _grouped(results).items()
    }
    note = "The most resident memory that the largest worker held during the load."
    return _card("Peak memory", note, draw_bars("Peak memory by load and workers", groups))


def _errors(results: Sequence[Result]) -> str:
    failed = [(r, code, count) for r in results for code, count in sorted(r.failures.items())]
    calls = sum(r.taken.calls for r in results)
    if not failed:
        return _card(
            "Errors", "By gRPC status", f'<div class="verdict good">None in {calls:,} calls and turns</div>', " wide"
        )
    rows = "".join(
        f'<tr><th scope="row">{escape(r.load)}</th><td>{r.workers}</td><td class="left">{escape(code)}</td>'
        f'<td class="bad">{count:,}</td></tr>'
        for r, code, count in failed
    )
    head = '<tr><th>Load</th><th>Workers</th><th class="left">Status</th><th>Calls</th></tr>'
    return _card("Errors", "By gRPC status", f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>", " wide")


def _table(results: Sequence[Result]) -> str:
    names = (
        "Load",
        "Workers",
        "Client",
        "A second",
        "p50, ms",
        "p95, ms",
        "p99, ms",
        "CPU",
        "CPU each",
        "Peak MiB",
        "Errors",
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = "".join(f"<tr>{_cells(result)}</tr>" for result in results)
    return _card(
        "All figures",
        "A turn is four calls in sequence; side by side, they come from four processes at the rate of the turns.",
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
        " wide",
    )


def _cells(result: Result) -> str:
    taken = result.taken
    latencies = (f"{us / 1e3:.1f}" for us in (taken.p50_us, taken.p95_us, taken.p99_us))
    cells = (str(result.workers), result.client, report.figure(taken.rate), *latencies, f"{result.server_cores:.0%}")
    cells += (_microseconds(result.server_us), f"{result.peak_mib:.0f}", f"{sum(result.failures.values()):,}")
    return f'<th scope="row">{escape(result.load)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
