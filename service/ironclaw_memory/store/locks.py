"""Locks on documents and request ids that hold across threads and processes and die with their holder.

A lock is a raw `flock` on a freshly opened descriptor of a permanent, empty file in the scope's `locks/` folder. Such
a lock belongs to the open file, so it excludes other threads as well as other processes, and the kernel frees it when
the holder is killed: no crash leaves a lock behind, no process id has to be believed. Lock files are striped (many
documents share one) and never unlinked: a second file of the same name would be a second lock.

Threads of one process queue on a `threading.Lock` first, so that at most one of them asks the kernel. Between
processes the kernel's own queue is used: a blocking `flock` in a small helper thread, which the caller can leave when
its deadline comes. `filelock`, by comparison, polls (50 ms by default), lets the releaser overtake the waiters, and
costs 70 to 450 microseconds a pair where this costs 6; it serves where a data directory is set up, once.

Order: the curation's lock before a request's, that before a document's, stripes in ascending order. Nothing takes them
otherwise.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from ironclaw_memory.contract.call import Deadline
from ironclaw_memory.turns import waiting

from .health import FolderGone

DOCUMENT_STRIPES: Final = 64
REQUEST_STRIPES: Final = 16
_QUEUES: Final = 1024
_LOOK_AT_CALLER_SECONDS: Final = 0.25
"""How long a waiter sleeps before it asks whether its caller is still there."""

_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class _Stripes:
    """One kind of lock: `count` files a scope, and the in-process queues in front of them.

    Scopes share the queues; a scope's stripes lie side by side in an aligned block, so that taking all of them in
    ascending order is ascending in the queues too.
    """

    def __init__(self, kind: bytes, count: int) -> None:
        self.kind = kind
        self.count = count
        self._queues = tuple(threading.Lock() for _ in range(_QUEUES))

    def file_name(self, stripe: int) -> bytes:
        return b"%s-%02d" % (self.kind, stripe)

    def queue(self, scope_key: int, stripe: int) -> threading.Lock:
        block = scope_key % (_QUEUES // self.count)
        return self._queues[block * self.count + stripe]


class ScopeLocks:
    """Takes the locks of all scopes of one data directory."""

    def __init__(self) -> None:
        self._documents = _Stripes(b"document", DOCUMENT_STRIPES)
        self._requests = _Stripes(b"request", REQUEST_STRIPES)
        self._curation = _Stripes(b"curation", 1)

    @contextmanager
    def hold_document(self, folder: int, scope_key: int, digest: str, deadline: Deadline) -> Iterator[None]:
        """Hold a document's lock.

        Args:
            folder: descriptor of the scope's `locks/`.
            scope_key: the same number for the same scope in this process.
            digest: hex digits that stand for the document's path.

        Raises:
            DeadlineExceeded, CallCancelled: before the lock was free.
            FolderGone: the lock file was removed under us.
            OSError: the lock file can't be opened.
        """
        with _held(self._documents, folder, scope_key, int(digest[:8], 16) % DOCUMENT_STRIPES, deadline):
            yield

    @contextmanager
    def hold_request(self, folder: int, scope_key: int, digest: str, deadline: Deadline) -> Iterator[None]:
        """Hold a request id's lock; arguments and errors as for a document's."""
        with _held(self._requests, folder, scope_key, int(digest[:8], 16) % REQUEST_STRIPES, deadline):
            yield

    @contextmanager
    def hold_curation(self, folder: int, scope_key: int, deadline: Deadline) -> Iterator[None]:
        """Hold the lock on a scope's turns and lease; arguments and errors as for a document's."""
        with _held(self._curation, folder, scope_key, 0, deadline):
            yield

    @contextmanager
    def hold_all_documents(self, folder: int, scope_key: int, deadline: Deadline) -> Iterator[None]:
        """Hold the locks of every document of a scope; arguments and errors as for one document's."""
        with ExitStack() as held:
            for stripe in range(DOCUMENT_STRIPES):
                held.enter_context(_held(self._documents, folder, scope_key, stripe, deadline))
            yield


@contextmanager
def _held(stripes: _Stripes, folder: int, scope_key: int, stripe: int, deadline: Deadline) -> Iterator[None]:
    queue = stripes.queue(scope_key, stripe)
    _wait_in_queue(queue, deadline)
    try:
        fd = os.open(stripes.file_name(stripe), _LOCK_FLAGS, 0o600, dir_fd=folder)
    except BaseException as error:
        queue.release()
        if isinstance(error, FileNotFoundError):
            raise FolderGone from None
        raise
    _take(fd, queue, deadline)
    try:
        if os.fstat(fd).st_nlink == 0:  # someone removed the scope; others would lock another file of this name
            raise FolderGone
        yield
    finally:
        os.close(fd)
        queue.release()


def _wait_in_queue(queue: threading.Lock, deadline: Deadline) -> None:
    if queue.acquire(blocking=False):
        return
    with waiting():
        while not queue.acquire(timeout=min(deadline.remaining(), _LOOK_AT_CALLER_SECONDS)):
            deadline.check()


def _take(fd: int, queue: threading.Lock, deadline: Deadline) -> None:
    """Take the kernel's lock; on failure neither the descriptor nor the queue is held, now or a little later."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with waiting():
            _KernelWait(fd, queue).finish(deadline)
    except BaseException:
        os.close(fd)
        queue.release()
        raise


class _KernelWait:
    """Waits in the kernel's queue for a caller with a deadline.

    A caller that leaves hands its descriptor and its place in the process's queue to the helper, which lets go of both
    when the kernel has let it through. So a holder that hangs costs one thread a stripe, however many callers give up.
    """

    def __init__(self, fd: int, queue: threading.Lock) -> None:
        self._fd = fd
        self._queue = queue
        self._guard = threading.Lock()
        self._through = threading.Event()
        self._left = False  # guarded by _guard
        self._error: OSError | None = None
        threading.Thread(target=self._run, name="lock-wait", daemon=True).start()

    def _run(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._guard:
            self._through.set()
            if self._left:
                self._let_go()

    def finish(self, deadline: Deadline) -> None:
        try:
            while not self._through.wait(min(deadline.remaining(), _LOOK_AT_CALLER_SECONDS)):
                deadline.check()
        except BaseException:
            self._leave()
            raise
        if self._error is not None:
            self._let_go()
            raise self._error

    def _leave(self) -> None:
        with self._guard:
            self._left = True
            if self._through.is_set():
                self._let_go()

    def _let_go(self) -> None:
        with suppress(OSError):
            os.close(self._fd)
        self._queue.release()
