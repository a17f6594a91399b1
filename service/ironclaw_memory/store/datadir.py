"""The data directory itself: made, checked and marked when a server starts. What lies in it is `layout.py`'s affair."""

from __future__ import annotations

import json
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filelock

from .files import close_all, flush, open_folder, read_file, remove_file, replace_file

FORMAT_VERSION: Final = 1
"""Grows when an older server could no longer read, or would harm, what a newer one wrote."""

KEY_BYTES: Final = 32
_FORMAT_FILE: Final = b"format.json"
_KEY_FILE: Final = b"key"
_LOCK_FILE: Final = "setup.lock"
_SETUP_SECONDS: Final = 10.0

EVENTS_FOLDER: Final = "events"
"""Where the audit trail is."""

NETWORK_FILE_SYSTEMS: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "fuse.s3fs")
)
"""Where `flock` doesn't exclude other machines, or a rename isn't atomic: two servers would lose writes."""


class DataDirError(Exception):
    """The data directory can't be used. The message is for the operator and names the path."""


@dataclass(frozen=True, slots=True)
class DataDir:
    """A data directory that was checked. Made by `open_data_dir`.

    Attributes:
        path: absolute, without links.
        ignores_case: whether the file system takes `A` and `a` for the same name.
    """

    path: Path
    ignores_case: bool = False

    def key(self) -> bytes:
        """Return the directory's 32 secret random bytes, the same for all processes and for ever.

        Raises:
            DataDirError: the key file is missing or damaged.
        """
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = read_file(_KEY_FILE, folder)
        except OSError as error:
            raise DataDirError(f"{self.path}/key can't be read: {error.strerror}.") from error
        finally:
            os.close(folder)
        if found is None or len(found[0]) != KEY_BYTES:
            raise DataDirError(f"{self.path}/key is missing or damaged; restore it from a backup.")
        return found[0]


def open_data_dir(path: Path) -> DataDir:
    """Open the data directory at `path`, making it with mode 0700 when its parent exists.

    Durability: the directory, its format mark and its key are on the disk when this returns.

    Raises:
        DataDirError: it can't be made, is no folder, belongs to another user, is open to others, lies on a network file
            system, or was written by a newer version of this software.
    """
    try:
        _make(path)
        real = path.resolve(strict=True)
        _check_folder(real)
        _check_file_system(real)
        return _set_up(real)
    except OSError as error:
        raise DataDirError(f"The data directory {path} can't be used: {error.strerror}.") from error
    except filelock.Timeout:
        raise DataDirError(f"Another process holds {path}/{_LOCK_FILE}; is a server hanging?") from None


def _make(path: Path) -> None:
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flush(parent)
        finally:
            os.close(parent)


def _check_folder(path: Path) -> None:
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise DataDirError(f"{path} is not a folder.")
    if found.st_uid != os.geteuid():
        raise DataDirError(f"{path} belongs to another user (uid {found.st_uid}); run the server as that user.")
    if found.st_mode & 0o077:
        raise DataDirError(f"{path} is open to other users; close it with: chmod 700 {path}")


def _check_file_system(path: Path) -> None:
    kind = file_system_of(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise DataDirError(f"{path} is on a network file system ({kind}); use a local disk.")


def file_system_of(path: Path, mount_table: Path = Path("/proc/self/mountinfo")) -> str:
    """Return the name of the file system that `path` is on; empty where the kernel has no mount table."""
    device = path.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = mount_table.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    for line in lines:
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == wanted:
            return source.split()[0]
    return ""


def _set_up(path: Path) -> DataDir:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # One process at a time decides what the format is and what the key is.
        with filelock.UnixFileLock(path / _LOCK_FILE, timeout=_SETUP_SECONDS, mode=0o600):
            _check_format(path, folder)
            if read_file(_KEY_FILE, folder) is None:
                replace_file(_KEY_FILE, secrets.token_bytes(KEY_BYTES), folder)
        return DataDir(path, ignores_case=_ignores_case(folder))
    finally:
        os.close(folder)


def _check_format(path: Path, folder: int) -> None:
    found = read_file(_FORMAT_FILE, folder)
    if found is None:
        if _holds_tenants(folder):
            raise DataDirError(f"{path}/format.json is missing; restore it from a backup.")
        replace_file(_FORMAT_FILE, json.dumps({"format": FORMAT_VERSION}).encode("ascii") + b"\n", folder)
        return
    try:
        version = json.loads(found[0])["format"]
        newer = version > FORMAT_VERSION
    except (ValueError, KeyError, TypeError):
        raise DataDirError(f"{path}/format.json is damaged; restore it from a backup.") from None
    if newer:
        raise DataDirError(f"{path} has format {version}; this version of the server knows up to {FORMAT_VERSION}.")


def _holds_tenants(folder: int) -> bool:
    try:
        close_all([open_folder(b"tenants", folder)])
    except FileNotFoundError:
        return False
    return True


def _ignores_case(folder: int) -> bool:
    try:
        os.stat(_KEY_FILE.upper(), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def prove_writable(path: Path) -> None:
    """Write, flush and remove a small file in the data directory.

    Raises:
        OSError: durable writes don't work there now.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name = b"probe-%s" % secrets.token_hex(8).encode("ascii")
    try:
        replace_file(name, b"probe\n" * 512, folder)  # more than what fits into an inode
    finally:
        try:
            with suppress(FileNotFoundError):
                remove_file(name, folder)
        finally:
            os.close(folder)
