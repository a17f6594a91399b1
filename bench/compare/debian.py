"""Debian packages unpacked into a folder, without installing them: no root rights, no change of the system."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

SECONDS = 300.0
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Missing(Exception):
    """Something can't be had on this machine; the message says why."""


def unpack(packages: Sequence[str], folder: Path, *, suite: str | None = None) -> None:
    """Download packages with apt and unpack them into a folder.

    Args:
        packages: their names; what they depend on isn't looked for.
        folder: made when it is missing.
        suite: a release of Debian other than the machine's own, whose mirror is asked for it.

    Raises:
        Missing: this isn't Debian, or a package can't be downloaded.
    """
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise Missing("needs apt-get and dpkg")
    downloads = folder.with_name(f"{folder.name}-downloads")
    downloads.mkdir(parents=True, exist_ok=True)
    options = _other_suite(downloads, suite) if suite else []
    _run(["apt-get", *options, "download", *packages], downloads)
    folder.mkdir(parents=True, exist_ok=True)
    for package in downloads.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(folder)], downloads)
    shutil.rmtree(downloads)


def _other_suite(folder: Path, suite: str) -> list[str]:
    """Make lists of another release in a folder, and return the options that make apt use them."""
    source = folder / "other.sources"
    source.write_text(describe_suite(SOURCES.read_text("utf-8") if SOURCES.exists() else "", suite), "utf-8")
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    places = {
        "Dir::Etc::sourcelist": source,
        "Dir::Etc::sourceparts": folder / "none",
        "Dir::State::lists": lists,
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    options = [part for name, value in places.items() for part in ("-o", f"{name}={value}")]
    _run(["apt-get", *options, "update"], folder)
    return options


def describe_suite(sources: str, suite: str) -> str:
    """Return a source of a release, on the mirror that the machine's own sources name first.

    Raises:
        Missing: they name none.
    """
    mirror = re.search(r"^URIs:\s*(\S+)", sources, re.MULTILINE)
    if mirror is None:
        raise Missing("the machine's sources name no mirror of Debian")
    return f"Types: deb\nURIs: {mirror[1]}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n"


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise Missing(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
