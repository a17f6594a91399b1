"""Small file operations that hold under crashes, other processes and planted links. They know no scopes or documents.

Everything works on a folder's descriptor and one name in it. A path with several components is never handed to a call
that follows links: `O_NOFOLLOW` guards only the last component. It is opened with `openat2`, which refuses a link
anywhere, or else one component after the other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ironclaw_memory.contract.path import TEMPORARY_NAME
from ironclaw_memory.turns import waiting

from . import openat2
from .health import FolderGone

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO that someone put there must not wait for its other end.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

NOT_THERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO))
"""What opening a name for reading says when there is nothing, a link, a socket, or a file on the way to it."""


def flush(fd: int) -> None:
    """Return once the file or folder is on the disk.

    A failed flush is never tried again: the kernel has marked the pages clean, and a second call would report success
    for data that is gone.

    Raises:
        OSError: what was written since the last flush may be lost.
    """
    if sys.platform == "darwin":  # there fsync only reaches the drive's cache
        with waiting():
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        with waiting():
            os.fsync(fd)


def flush_data(fd: int) -> None:
    """Return once the file's bytes and length are on the disk; its times may follow later. For appends to logs.

    Raises:
        OSError: as `flush`.
    """
    if sys.platform == "darwin":
        flush(fd)
    else:
        with waiting():
            os.fdatasync(fd)


def write_all(fd: int, content: bytes) -> None:
    """Write every byte. One `write` may take fewer than it was given (full disk, file size limit).

    Raises:
        OSError: some bytes may have been written.
    """
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def open_folder(name: bytes, parent: int) -> int:
    """Open the folder `name`, never through a link.

    Raises:
        OSError: ENOENT when there is none, ENOTDIR when it is a file or a link.
    """
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)


def open_folders(root: int, names: Sequence[bytes]) -> int:
    """Open the folder at the end of `names`; a link on the way leads nowhere.

    Returns:
        A descriptor of its own, also for the root itself.

    Raises:
        OSError: as `open_folder`.
    """
    if not names:
        return os.dup(root)
    if len(names) == 1 or not openat2.is_offered():
        return _open_each(root, names)
    try:
        return openat2.open_plainly(root, b"/".join(names), _FOLDER_FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
        raise


def _open_each(root: int, names: Sequence[bytes]) -> int:
    folder = open_folder(names[0], root)
    for name in names[1:]:
        try:
            below = open_folder(name, folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def open_file(root: int, names: Sequence[bytes]) -> int | None:
    """Open what is at the end of `names` for reading; a link there or on the way leads nowhere.

    Returns:
        A descriptor, of whatever kind of file it is; None when nothing is there.

    Raises:
        OSError: it is there and can't be opened.
    """
    if len(names) > 1 and openat2.is_offered():
        return open_path(root, b"/".join(names))
    try:
        if len(names) == 1:
            return os.open(names[0], _READ_FLAGS, dir_fd=root)
        parent = _open_each(root, names[:-1])
        try:
            return os.open(names[-1], _READ_FLAGS, dir_fd=parent)
        finally:
            os.close(parent)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def open_path(root: int, path: bytes) -> int | None:
    """Open what is at `path` below `root` for reading, as `open_file`, where one call of the kernel does that.

    Returns:
        A descriptor; None when nothing is there, or the kernel has no such call.

    Raises:
        OSError: it is there and can't be opened.
    """
    if not openat2.is_offered():
        return None
    try:
        return openat2.open_plainly(root, path, _READ_FLAGS)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def make_folders(root: int, names: Iterable[bytes]) -> list[int]:
    """Open the folders at `names`, making those that are missing, mode 0700.

    Returns:
        Descriptors from a copy of the root down to the last folder; the caller closes them.

    Raises:
        OSError: ENOTDIR where a file or a link is in the way.
        FolderGone: a folder was removed by another writer's delete meanwhile.
    """
    chain = [os.dup(root)]
    try:
        for name in names:
            chain.append(_make_folder(name, chain[-1]))
    except BaseException:
        close_all(chain)
        raise
    return chain


def _make_folder(name: bytes, parent: int) -> int:
    try:
        return open_folder(name, parent)
    except FileNotFoundError:
        pass
    try:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        return open_folder(name, parent)
    except FileNotFoundError:
        raise FolderGone from None


def close_all(descriptors: Iterable[int]) -> None:
    """Close descriptors; one that fails doesn't keep the others open."""
    for fd in descriptors:
        with suppress(OSError):
            os.close(fd)


def read_file(name: bytes, folder: int, limit_bytes: int | None = None) -> tuple[bytes, os.stat_result] | None:
    """Read the regular file `name`, whole.

    Args:
        limit_bytes: leave a longer file unread: its bytes come back empty, its size is in the stat.

    Returns:
        The bytes and the stat of the descriptor they were read from; None when there is no regular file of that name
        (nothing, a link, a folder, a device).

    Raises:
        OSError: it is there and can't be read. Never taken for an empty file.
    """
    fd = open_file(folder, (name,))
    if fd is None:
        return None
    try:
        return read_open_file(fd, limit_bytes)
    finally:
        os.close(fd)


def read_open_file(fd: int, limit_bytes: int | None = None) -> tuple[bytes, os.stat_result] | None:
    """Read an open file from its beginning; see `read_file`."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return None
    if limit_bytes is not None and found.st_size > limit_bytes:
        return b"", found
    return _read_to_end(fd, found.st_size), found


def read_start(fd: int, max_bytes: int) -> tuple[bytes, int] | None:
    """Read the first bytes of an open file; return them and the file's size, or None when it isn't a regular one.

    Raises:
        OSError: it can't be read.
    """
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return None
    start = os.pread(fd, max_bytes, 0)
    # Someone may be writing to it: a start that was read whole is never said to be longer than the file.
    return start, found.st_size if len(start) == max_bytes else len(start)


def _read_to_end(fd: int, expected: int) -> bytes:
    content = os.read(fd, expected + 1)
    if len(content) == expected:
        return content
    parts = [content]  # someone writes to it right now, or the kernel was interrupted
    while part := os.read(fd, 1 << 16):
        parts.append(part)
    return b"".join(parts)


class Temporary:
    """A file that isn't there yet: written and flushed under a name that no walk shows, then given its name.

    The descriptor stays open and locked until `close`, so a sweeper can tell a dead writer's file from a live one's.

    Args:
        folder: the folder in which it will get its name; a rename can't cross file systems.
        content: all of its bytes.

    Raises:
        OSError: nothing was left behind.
        FolderGone: the folder was removed.
    """

    def __init__(self, folder: int, content: bytes) -> None:
        self._folder = folder
        # Not secret, only new: a name that is there already, or a planted link, is refused by O_EXCL.
        self._name = b".ironclaw-%032x.tmp" % random.getrandbits(128)
        try:
            self._fd = os.open(self._name, _CREATE_FLAGS, 0o600, dir_fd=folder)
        except FileNotFoundError:
            raise FolderGone from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_all(self._fd, content)
            flush(self._fd)
        except BaseException:
            self.discard()
            raise

    def place(self, name: bytes) -> None:
        """Give the file its name, replacing what has it: the commit point for readers. Not yet durable.

        Raises:
            OSError: the old file is still there.
        """
        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def discard(self) -> None:
        """Remove the file, which was not placed; a failure leaves it to the sweeper."""
        with suppress(OSError):
            os.unlink(self._name, dir_fd=self._folder)
        self.close()

    def close(self) -> None:
        """Let go of the descriptor and with it of the lock."""
        with suppress(OSError):  # the bytes were flushed; what close could still report isn't about them
            os.close(self._fd)


def replace_file(name: bytes, content: bytes, folder: int) -> None:
    """Replace or create the file `name`; durable when it returns.

    Raises:
        OSError: the old file or the new one is there, whole.
        FolderGone: the folder was removed.
    """
    temporary = Temporary(folder, content)
    try:
        temporary.place(name)
    except BaseException:
        temporary.discard()
        raise
    temporary.close()
    flush(folder)


def remove_file(name: bytes, folder: int) -> bool:
    """Remove the name; durable when it returns.

    Returns:
        Whether it was there.

    Raises:
        OSError: it may still be there.
    """
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    flush(folder)
    return True


def remove_if_abandoned(name: bytes, folder: int, older_than: float) -> bool:
    """Remove a temporary whose writer is dead: its lock is free, and it was last written before `older_than`.

    Args:
        older_than: seconds since the epoch. Covers the instant between a writer's create and its lock.

    Returns:
        Whether it was removed. A failure counts as no: the next sweep tries again.
    """
    if not TEMPORARY_NAME.match(os.fsdecode(name)):
        return False
    try:
        fd = os.open(name, _READ_FLAGS, dir_fd=folder)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_mtime >= older_than:
            return False
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
