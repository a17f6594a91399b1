"""Opening a path of several components in one call of the kernel, with no link followed on the way. Linux only.

The same is had everywhere by opening one component after the other, two calls each; `files.py` does so where the kernel
is older than 5.6, isn't Linux, or a sandbox refuses the call. Python has no name for it, so it goes through the C
library's `syscall`. Nothing else of the C library is used.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from functools import cache
from typing import Final

_NUMBER: Final = 437
"""The same on every architecture but Alpha, where it means nothing."""

_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_HOW: Final = struct.Struct("=QQQ")  # flags, mode, resolve


@cache
def is_offered() -> bool:
    """Return whether the kernel opens paths this way; asked once a process."""
    if not sys.platform.startswith("linux"):
        return False
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_plainly(root, b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.close(fd)
    except (OSError, AttributeError):
        return False
    finally:
        os.close(root)
    return True


def open_plainly(folder: int, path: bytes, flags: int) -> int:
    """Open `path`, which lies below `folder`; a link anywhere on it, its end included, is an error.

    Args:
        flags: as for `os.open`; nothing is created.

    Raises:
        OSError: ELOOP for a link, EXDEV for a path that leads out, the rest as `os.open`.
    """
    if b"\0" in path:  # C would take what stands before it for the whole
        raise ValueError("embedded null byte")
    how = _how(flags)
    while (fd := _syscall()(_NUMBER, folder, path, how, len(how))) < 0:
        if ctypes.get_errno() != errno.EINTR:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(fd)


@cache
def _how(flags: int) -> bytes:
    return _HOW.pack(flags, 0, _NO_SYMLINKS | _BENEATH)


@cache
def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    function.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    return function
