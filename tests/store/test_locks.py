"""Locks: one writer at a time over threads and processes, a deadline for those who wait, no trace of the dead."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.contract.faults import CallCancelled, DeadlineExceeded
from ironclaw_memory.store.health import FolderGone
from ironclaw_memory.store.locks import ScopeLocks

DIGEST = "0" * 32
_HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    """A descriptor of an empty folder for lock files."""
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of the document with digest zero."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "document-00")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def test_threads_exclude_each_other(folder):
    """A counter that 8 threads raise under the lock, read and written in two steps, loses nothing."""
    locks, counter = ScopeLocks(), [0]

    def raise_it():
        for _ in range(50):
            with locks.hold_document(folder, 1, DIGEST, Deadline.after(20)):
                value = counter[0]
                os.sched_yield()
                counter[0] = value + 1

    threads = [threading.Thread(target=raise_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter == [400]


def test_a_waiter_leaves_when_its_time_is_over(folder, holder):
    """While another process holds the lock, a call waits until its deadline and no longer; so does the next one."""
    locks = ScopeLocks()
    for _ in range(2):
        begun = time.monotonic()
        with pytest.raises(DeadlineExceeded), locks.hold_document(folder, 1, DIGEST, Deadline.after(0.1)):
            raise AssertionError("the lock was held elsewhere")
        assert 0.1 <= time.monotonic() - begun < 2
    assert sum(thread.name == "lock-wait" for thread in threading.enumerate()) == 1


def test_a_waiter_leaves_when_its_caller_does(folder, holder):
    """A cancelled call doesn't wait on."""
    with (
        pytest.raises(CallCancelled),
        ScopeLocks().hold_document(folder, 1, DIGEST, Deadline.after(60, cancelled=lambda: True)),
    ):
        raise AssertionError("the lock was held elsewhere")


def test_a_killed_holder_frees_the_lock_at_once(folder, holder):
    """SIGKILL leaves nothing to clean up: a waiter gets the lock, also after others had given up."""
    locks = ScopeLocks()
    with pytest.raises(DeadlineExceeded), locks.hold_document(folder, 1, DIGEST, Deadline.after(0.05)):
        raise AssertionError("the lock was held elsewhere")
    os.kill(holder.pid, signal.SIGKILL)
    with locks.hold_document(folder, 1, DIGEST, Deadline.after(10)):
        other = os.open("document-00", os.O_RDWR, dir_fd=folder)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)


def test_different_documents_do_not_wait_for_each_other(folder, holder):
    """Another stripe of the same scope is free."""
    with ScopeLocks().hold_document(folder, 1, "0000003f" + "0" * 24, Deadline.after(0.2)):
        pass


def test_a_removed_lock_folder_is_noticed(tmp_path):
    """A lock in a folder that is gone excludes nobody, so it isn't given."""
    (tmp_path / "locks").mkdir()
    fd = os.open(tmp_path / "locks", os.O_RDONLY)
    (tmp_path / "locks").rmdir()
    with pytest.raises(FolderGone), ScopeLocks().hold_document(fd, 1, DIGEST, Deadline.after(1)):
        raise AssertionError("there is no lock to hold")
    os.close(fd)


def test_all_documents_of_a_scope_can_be_locked(folder):
    """Whoever holds them all excludes every writer, and lets all of them in again."""
    locks = ScopeLocks()
    with locks.hold_all_documents(folder, 1, Deadline.after(5)):
        begun = threading.Event()

        def write():
            begun.set()
            with locks.hold_document(folder, 1, "0000002a" + "0" * 24, Deadline.after(5)):
                order.append("writer")

        order = []
        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        order.append("eraser")
    thread.join()
    assert order == ["eraser", "writer"]
