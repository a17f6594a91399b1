"""Opening paths: both ways agree on what is there, and neither follows a link."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironclaw_memory.store import openat2
from ironclaw_memory.store.files import open_file, open_folders, read_file
from ironclaw_memory.store.frames import compress
from ironclaw_memory.store.stamps import MAX_NAMES, SETTLED_AFTER_NS, KnownNames, is_settled
from tests.store.workbench import next_tick


@pytest.fixture
def root(tmp_path):
    """A descriptor of a folder with a document three folders down, a FIFO, and links to everything."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/doc.md").write_bytes(b"text")
    (tmp_path / "a/file").write_bytes(b"file")
    os.mkfifo(tmp_path / "a/fifo")
    (tmp_path / "a/to-folder").symlink_to("b")
    (tmp_path / "a/to-doc").symlink_to("b/c/doc.md")
    (tmp_path / "outside").symlink_to("/")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def _names(path):
    return [name for name in path.encode().split(b"/") if name]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", ["", "a", "a/b", "a/b/c"])
def test_a_folder_is_opened(root, tmp_path, path):
    """The descriptor is the folder's, and the caller's own."""
    fd = open_folders(root, _names(path))
    assert fd != root
    assert os.path.samestat(os.fstat(fd), (tmp_path / path).stat())
    os.close(fd)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("a/missing", FileNotFoundError),
        ("a/missing/c", FileNotFoundError),
        ("a/file", NotADirectoryError),
        ("a/file/c", NotADirectoryError),
        ("a/to-folder", NotADirectoryError),
        ("a/to-folder/c", NotADirectoryError),
        ("outside/tmp", NotADirectoryError),
    ],
)
def test_what_is_no_folder_is_refused(root, path, error):
    """Both ways say the same."""
    with pytest.raises(error):
        open_folders(root, _names(path))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "path", ["a/b/c/none", "a/none/c", "a/to-doc", "a/to-folder/c/doc.md", "a/file/x", "outside/etc"]
)
def test_no_file_is_found_through_a_link_or_a_file(root, path):
    """Nothing is there."""
    assert open_file(root, _names(path)) is None


@pytest.mark.usefixtures("way")
def test_a_file_is_opened_and_a_fifo_does_not_block(root):
    """A document is read whole; of something else the caller finds out what it is."""
    fd = open_file(root, _names("a/b/c/doc.md"))
    assert os.read(fd, 9) == b"text"
    os.close(fd)
    os.close(open_file(root, _names("a/fifo")))
    folder = open_folders(root, [b"a"])
    assert read_file(b"fifo", folder) is None
    os.close(folder)


@pytest.mark.usefixtures("way")
def test_a_folder_that_may_not_be_entered_is_an_error(root, tmp_path):
    """It is never taken for an empty one."""
    if os.geteuid() == 0:
        pytest.skip("root may enter every folder")
    (tmp_path / "a/b").chmod(0)
    with pytest.raises(PermissionError):
        open_file(root, _names("a/b/c/doc.md"))
    (tmp_path / "a/b").chmod(0o700)


@pytest.mark.skipif(not openat2.is_offered(), reason="this kernel has no openat2")
def test_the_kernel_keeps_a_path_below_its_folder(root):
    """Whatever got past the grammar of paths: nothing above the folder is opened, and a NUL doesn't end a path."""
    for path in (b"../x", b"a/../../x", b"/etc/passwd"):
        with pytest.raises(OSError, match="cross-device"):
            openat2.open_plainly(root, path, os.O_RDONLY)
    with pytest.raises(ValueError, match="null"):
        openat2.open_plainly(root, b"a/file\0/x", os.O_RDONLY)


@given(st.binary(max_size=200) | st.integers(4090, 4103).map(lambda size: bytes(n * n % 251 for n in range(size))))
def test_any_reader_of_zlib_unpacks_a_body(content):
    """Small or large, a body is what the default settings of zlib read."""
    assert zlib.decompress(compress(content)) == content


def test_a_body_is_as_small_as_before(tmp_path):
    """The smaller window costs a small text no room."""
    text = b"User prefers green tea in the morning, and the garden is north.\n" * 30
    assert len(compress(text)) <= len(zlib.compress(text, 1)) + 16


def test_a_stat_proves_something_after_two_seconds():
    """Not one nanosecond earlier, and never when its time lies ahead."""
    stamp = (1, 2, 3, 4, 10**18)
    assert not is_settled(stamp, 10**18 + SETTLED_AFTER_NS)
    assert is_settled(stamp, 10**18 + SETTLED_AFTER_NS + 1)
    assert not is_settled(stamp, 10**18 - 1)


@pytest.mark.usefixtures("settled")
def test_names_that_come_and_go_are_seen(root, tmp_path):
    """Known names are those of now, whoever changed them."""
    names = KnownNames(root)
    assert names.get() == names.get() == {b"a", b"outside"}
    next_tick(tmp_path)
    (tmp_path / "more").write_bytes(b"")
    assert names.get() == {b"a", b"outside", b"more"}
    next_tick(tmp_path)
    (tmp_path / "more").rename(tmp_path / "other")
    assert names.get() == {b"a", b"outside", b"other"}


@pytest.mark.usefixtures("unsettled")
def test_names_of_a_folder_in_motion_are_not_known(root):
    """The caller has to look for each."""
    assert KnownNames(root).get() is None


@pytest.mark.usefixtures("settled")
def test_names_of_a_crowded_folder_are_not_kept(root, tmp_path):
    """What is kept in memory has a limit."""
    for number in range(MAX_NAMES + 1):
        (tmp_path / f"{number}").touch()
    names = KnownNames(root)
    assert names.get() is names.get() is None
