"""The data directory: made privately, refused when it isn't safe, marked with a format, keyed once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ironclaw_memory.store.datadir import DataDirError, file_system_of, open_data_dir

_PRINT_KEY = """
import sys
from pathlib import Path
from ironclaw_memory.store import open_data_dir
print(open_data_dir(Path(sys.argv[1])).key().hex())
"""


def test_a_new_directory_is_made_for_the_owner_alone(tmp_path):
    """Mode 0700, with a format mark and a key of 32 bytes and mode 0600 that stays the same."""
    opened = open_data_dir(tmp_path / "data")
    assert stat.S_IMODE(opened.path.stat().st_mode) == 0o700
    assert json.loads((opened.path / "format.json").read_bytes()) == {"format": 1}
    assert stat.S_IMODE((opened.path / "key").stat().st_mode) == 0o600
    assert len(opened.key()) == 32
    assert open_data_dir(tmp_path / "data").key() == opened.key()


def test_two_directories_have_different_keys(tmp_path):
    """The key is random."""
    assert open_data_dir(tmp_path / "a").key() != open_data_dir(tmp_path / "b").key()


def test_processes_that_start_together_agree_on_the_key(tmp_path):
    """Of four processes that make the same directory, each prints the same key."""
    command = [sys.executable, "-c", _PRINT_KEY, str(tmp_path / "data")]
    service = str(Path(__file__).parents[2] / "service")
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": service}) for _ in range(4)
    ]
    keys = {process.communicate(timeout=60)[0] for process in running}
    assert len(keys) == 1
    assert len(keys.pop().strip()) == 64


def _refusal(path) -> str:
    with pytest.raises(DataDirError) as refused:
        open_data_dir(path)
    return str(refused.value)


def test_a_path_whose_parent_is_missing_is_refused(tmp_path):
    """A typing error makes no tree of folders."""
    assert "No such file" in _refusal(tmp_path / "no/data")


def test_a_file_is_refused(tmp_path):
    """A path that is no folder is named as such."""
    (tmp_path / "data").write_bytes(b"")
    assert "not a folder" in _refusal(tmp_path / "data")


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_directory_that_is_open_to_others_is_refused(tmp_path, mode):
    """The message says how to close it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(mode)
    assert "chmod 700" in _refusal(tmp_path / "data")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_directory_of_another_user_is_refused(tmp_path):
    """Documents that another user can change aren't served."""
    (tmp_path / "data").mkdir(mode=0o700)
    os.chown(tmp_path / "data", 12345, 12345)
    assert "uid 12345" in _refusal(tmp_path / "data")


def test_a_newer_format_is_refused(tmp_path):
    """An older server doesn't touch what it may not understand."""
    folder = open_data_dir(tmp_path / "data").path
    (folder / "format.json").write_text('{"format": 2}')
    assert "format 2" in _refusal(folder)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": "one"}', '{"other": 1}'])
def test_a_damaged_format_mark_is_refused(tmp_path, damage):
    """Nothing is guessed."""
    folder = open_data_dir(tmp_path / "data").path
    (folder / "format.json").write_text(damage)
    assert "damaged" in _refusal(folder)


def test_a_directory_with_data_but_no_mark_is_refused(tmp_path):
    """Documents of unknown format aren't marked as ours."""
    folder = open_data_dir(tmp_path / "data").path
    (folder / "format.json").unlink()
    (folder / "tenants").mkdir()
    assert "missing" in _refusal(folder)


def test_a_damaged_key_is_an_error_and_not_replaced(tmp_path):
    """Hashes made with the old key would match nothing any more."""
    opened = open_data_dir(tmp_path / "data")
    (opened.path / "key").write_bytes(b"short")
    with pytest.raises(DataDirError):
        open_data_dir(tmp_path / "data").key()
    assert (opened.path / "key").read_bytes() == b"short"


def test_a_network_file_system_is_recognised(tmp_path):
    """The mount table tells what kind of file system a folder is on."""
    device = tmp_path.stat().st_dev
    table = tmp_path / "mountinfo"
    table.write_text(
        "22 1 0:99 / /proc rw shared:5 - proc proc rw\n"
        f"36 35 {os.major(device)}:{os.minor(device)} / {tmp_path} rw,noatime - nfs4 server:/export rw\n"
    )
    assert file_system_of(tmp_path, table) == "nfs4"
    assert file_system_of(tmp_path, tmp_path / "none") == ""
