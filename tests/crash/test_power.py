"""Power cuts on a real file system: what was acknowledged before the cut is there after it.

The cut is the kernel's own: ext4's shutdown call drops the page cache and the journal that isn't on the disk yet. It
doesn't model a drive that loses its cache or tears a sector.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import shutil
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from ironclaw_memory.contract.document import RequestKey
from ironclaw_memory.store import DocumentStore
from tests.crash.processes import skip_unless_ci, start
from tests.store.workbench import Workbench

_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN
_NO_LOG_FLUSH = 2


class Disk:
    """An ext4 file system in a file, whose power can be cut."""

    def __init__(self, folder: Path) -> None:
        self._image = folder / "disk.img"
        self.mount_point = folder / "disk"
        self.mount_point.mkdir()
        with self._image.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._image)], check=True, capture_output=True)
        self.mount()
        self.data = self.mount_point / "data"

    def mount(self) -> None:
        subprocess.run(
            ["mount", "-o", "loop", str(self._image), str(self.mount_point)], check=True, capture_output=True
        )

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.mount_point)], check=True, capture_output=True)

    def cut(self) -> None:
        fd = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(fd)


@pytest.fixture
def disk(tmp_path):
    """A disk of its own for one test."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        skip_unless_ci("a disk of one's own needs root and mkfs.ext4")
    try:
        made = Disk(tmp_path)
    except subprocess.CalledProcessError:
        skip_unless_ci("mounting a file isn't allowed")
    yield made
    if os.path.ismount(made.mount_point):
        subprocess.run(["umount", "-l", str(made.mount_point)], check=True)  # a failed test may hold a descriptor


def _cut_during(disk: Disk, *steps: list) -> list[dict]:
    """Cut the power while the writer is at work; return the answers that were there before the cut."""
    process = start(disk.data, *steps)
    answers = [process.stdout.readline() for _ in range(20)]
    waiting = array.array("i", [0])
    fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, waiting)  # what is in the pipe now precedes the cut
    disk.cut()
    answers += os.read(process.stdout.fileno(), waiting[0]).split(b"\n")[:-1] if waiting[0] else []
    process.kill()
    process.communicate()
    disk.unmount()
    disk.mount()
    return [json.loads(line) for line in answers if line.startswith(b"{")]


@pytest.mark.parametrize("cut", range(4))
def test_acknowledged_appends_survive(disk, cut):
    """Every acknowledged entry is in the document, in order, with its version and its request id."""
    answers = _cut_during(disk, ["entries", "daily/log.md", 5000])
    bench = Workbench(disk.data)
    lines = bench.read("daily/log.md").decode().splitlines()
    assert len(lines) >= len(answers) >= 20
    assert lines == [f"entry {number}" for number in range(len(lines))]
    assert bench.version("daily/log.md", len(lines) - 1).decode().splitlines() == lines[:-1]
    for number in range(len(lines)):
        request = RequestKey(f"id-{number}", "f" * 64)
        assert bench.append("daily/log.md", b"again\n", request=request).replayed, number
    assert bench.read("daily/log.md").decode().splitlines() == lines


@pytest.mark.parametrize("cut", range(4))
def test_acknowledged_documents_in_new_folders_survive(disk, cut):
    """A new document's folders are as durable as its bytes."""
    answers = _cut_during(disk, ["entries", "a{0}/b/{0}.md", 5000])
    bench = Workbench(disk.data)
    for number in range(len(answers)):
        assert bench.read(f"a{number}/b/{number}.md") == f"entry {number}\n".encode()


def test_the_cut_cuts(disk):
    """The control: files that nobody flushed are gone after the cut, so the tests above can fail."""
    assert isinstance(Workbench(disk.data).store, DocumentStore)
    for number in range(50):
        (disk.data / f"unflushed-{number}").write_bytes(b"x" * 100)
    disk.cut()
    disk.unmount()
    disk.mount()
    assert len(list(disk.data.glob("unflushed-*"))) < 50
