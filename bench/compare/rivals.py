"""Who takes part: how each is installed, what serves it, and how its driver is started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.compare import environments
from bench.compare.debian import Missing
from bench.compare.embedder import lay_out_models
from bench.processes import REPOSITORY, environment

OURS: Final = "ironclaw-memory"
PROTOCOL: Final = Path(__file__).with_name("subjects") / "etcd.proto"
ROOM: Final = "20000"
"""Documents that a scope may hold; the writes of a run come to several thousand."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server: its command for a data folder, and what it prints when it is ready, the address as group 1."""

    command: Callable[[Path], list[str]]
    ready: str


@dataclass(frozen=True, slots=True)
class Rival:
    """One that takes part.

    Attributes:
        name: as it is printed.
        module: its adapter in `subjects`.
        python: the interpreter of its environment.
        version: what was installed.
        variant: how it is set up.
        serving: its server; None for a library, which lives in the driver.
        env: what its driver's environment has besides.
    """

    name: str
    module: str
    python: Path
    version: str
    variant: str = ""
    serving: Serving | None = None
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Absent:
    """One that can't take part, and why."""

    name: str
    why: str


def prepare(root: Path, only: Collection[str] = ()) -> Iterator[Rival | Absent]:
    """Install everybody, or those of these names alone, and yield who takes part and who can't."""
    preparations: dict[str, Callable[[Path], list[Rival]]] = {
        OURS: _prepare_ours,
        "mem0": _prepare_mem0,
        "basic-memory": _prepare_basic_memory,
        "langgraph": _prepare_langgraph,
        "etcd": _prepare_etcd,
    }
    for name, make in preparations.items():
        if only and not any(wanted.startswith(name) for wanted in only):
            continue
        try:
            yield from (each for each in make(root) if not only or each.name in only)
        except Missing as missing:
            yield Absent(name, str(missing))


def _prepare_ours(root: Path) -> list[Rival]:
    del root

    def command(data: Path) -> list[str]:
        serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(data), "--scope-documents", ROOM]
        return [sys.executable, "-m", "ironclaw_memory", *serve]

    serving = Serving(command, r"is ready on (\S+)")
    return [Rival(OURS, "ironclaw", Path(sys.executable), "this checkout", serving=serving, env=environment())]


def _prepare_mem0(root: Path) -> list[Rival]:
    python = environments.make_environment(root, "mem0", environments.find_python(root))
    return [Rival("mem0", "mem0", python, environments.PINS["mem0"][0], env=_quiet(lay_out_models(root)))]


def _prepare_basic_memory(root: Path) -> list[Rival]:
    python = environments.make_environment(root, "basic-memory", environments.find_python(root))
    version = environments.PINS["basic-memory"][0]
    return [Rival("basic-memory", "basic_memory", python, version, env=_quiet(lay_out_models(root)))]


def _prepare_langgraph(root: Path) -> list[Rival]:
    python = environments.make_environment(root, "langgraph", environments.find_python(root))
    version, env = environments.PINS["langgraph"][0], _quiet(lay_out_models(root))
    return [
        Rival("langgraph", "langgraph", python, version, env=env),
        Rival("langgraph, index", "langgraph", python, version, variant="index", env=env),
    ]


def _prepare_etcd(root: Path) -> list[Rival]:
    program = environments.find_etcd(root)
    said = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout
    stubs = environments.once(root / "etcd-stubs", [PROTOCOL.read_text("utf-8")], _generate_stubs)

    def command(data: Path) -> list[str]:
        anywhere = "http://127.0.0.1:0"
        urls = ("listen-client-urls", "advertise-client-urls", "listen-peer-urls", "initial-advertise-peer-urls")
        flags = [part for name in urls for part in (f"--{name}", anywhere)]
        named = ["--name", "compare", "--initial-cluster", f"compare={anywhere}", "--data-dir", str(data)]
        return [str(program), *named, *flags, "--logger", "zap", "--log-outputs", "stdout"]

    serving = Serving(command, r'serving client traffic.*"address":"([^"]+)"')
    env = environment() | {"PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(stubs)))}
    if (control := program.with_name("etcdctl")).exists():
        env["ETCDCTL"] = str(control)
    version = said.splitlines()[0].replace("etcd Version: ", "etcd ")
    return [Rival("etcd", "etcd", Path(sys.executable), version, serving=serving, env=env)]


def _generate_stubs(folder: Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOCOL.parent}", f"--python_out={folder}"]
    subprocess.run([*command, PROTOCOL.name], check=True, capture_output=True)


def _quiet(models: Path) -> dict[str, str]:
    """Return an environment in which a rival finds the models and calls nobody.

    Each has a switch for its telemetry. The proxy is nobody's, so that whatever tries in spite of it fails at once, and
    where the system allows it the driver leaves the network altogether.
    """
    nobody = "http://127.0.0.1:9"
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONWARNINGS": "ignore",
        "FASTEMBED_CACHE_PATH": str(models),
        "HF_HUB_OFFLINE": "1",
        "HTTP_PROXY": nobody,
        "HTTPS_PROXY": nobody,
        "http_proxy": nobody,
        "https_proxy": nobody,
        "DO_NOT_TRACK": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "ORT_DISABLE_TELEMETRY": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "FASTMCP_CHECK_FOR_UPDATES": "off",
        "MEM0_TELEMETRY": "False",
        "POSTHOG_DISABLED": "1",
        "LANGSMITH_TRACING": "false",
        "LANGCHAIN_TRACING_V2": "false",
        "LOGFIRE_SEND_TO_LOGFIRE": "false",
        "LOGFIRE_IGNORE_NO_CONFIG": "1",
        "BASIC_MEMORY_NO_PROMOS": "1",
        "BASIC_MEMORY_FORCE_LOCAL": "true",
        "BASIC_MEMORY_LOG_LEVEL": "ERROR",
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
    }
