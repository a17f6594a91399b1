"""What the documents say in tables is what the code says."""

import re
import tomllib
from pathlib import Path

import pytest

from ironclaw.memory.v1 import error_reason_pb2
from ironclaw_memory.contract.faults import Fault, Kind, Reason
from ironclaw_memory.contract.path import MAX_PATH_BYTES, MAX_SEGMENT_BYTES
from ironclaw_memory.interceptors.errors import STATUS
from ironclaw_memory.server import SERVICES
from ironclaw_memory.settings import ENVIRONMENT_PREFIX, Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROTOS = sorted((ROOT / "protos").rglob("*.proto"))
PAIR = re.compile(r"\((?P<code>[A-Z_]+),\s+(?://\s+)?(?P<reason>[A-Z_]+)\)")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table under a heading of the README."""
    section = README.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def all_faults(base: type[Fault] = Fault) -> list[type[Fault]]:
    return [kind for sub in base.__subclasses__() for kind in (sub, *all_faults(sub))]


def test_every_reason_has_one_status_and_stands_in_the_proto_enum():
    """The code's reasons, the table of statuses and the wire's enum are the same list."""
    on_the_wire = {name.removeprefix("ERROR_REASON_") for name in dict(error_reason_pb2.ErrorReason.items())}
    assert {reason.value for reason in Reason} == on_the_wire - {"UNSPECIFIED"}
    assert set(STATUS) == set(Reason)


def test_every_fault_has_a_reason():
    """No situation can be raised that the table doesn't map; UnsafeText takes its reason when it is made."""
    named = {fault.reason for fault in all_faults() if hasattr(fault, "reason")}
    made = {r for r in Reason if r.name.endswith("PROMPT_INJECTION")} | {
        Reason.PROMPT_WRITE_BYPASS_NOT_ALLOWED,
        Reason.SECRET_DETECTED,
        Reason.INTERNAL,
    }
    assert named | made == set(Reason)


@pytest.mark.parametrize("proto", PROTOS, ids=lambda p: p.name)
def test_the_pairs_in_the_protos_are_the_table_s(proto: Path):
    """Each (code, reason) in a comment is what the service answers."""
    for pair in PAIR.finditer(proto.read_text("utf-8")):
        assert STATUS[Reason(pair["reason"])].name == pair["code"], pair.group()


def test_every_reason_is_announced_by_some_rpc():
    """A reason that no RPC lists would surprise a client."""
    listed = {pair["reason"] for proto in PROTOS for pair in PAIR.finditer(proto.read_text("utf-8"))}
    assert listed == {reason.value for reason in Reason}


def test_the_readme_lists_every_reason_with_its_status_and_kind():
    """The error table of the README is the code's."""
    table = {cells[0].strip("`"): cells[1].strip("`") for cells in rows("## Errors")}
    assert table == {reason.value: STATUS[reason].name for reason in Reason}
    kinds = {cells[0].strip("`"): cells[2] for cells in rows("## Errors")}
    unavailable = {fault.reason.value for fault in all_faults() if fault.kind is Kind.UNAVAILABLE}
    assert {reason for reason, kind in kinds.items() if kind == "unavailable"} == unavailable


def test_the_readme_lists_every_setting_with_its_default():
    """The settings table of the README is the model's, environment names included."""
    table = {cells[0].strip("`"): (cells[1].strip("`"), cells[2].strip("`")) for cells in rows("## Settings")}
    expected = {}
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = ",".join(default) if isinstance(default, tuple) else str(default)
        expected[f"--{name.replace('_', '-')}"] = (ENVIRONMENT_PREFIX + name.upper(), shown)
    assert table == expected


def test_the_readme_lists_every_rpc():
    """The table of RPCs is the services'."""
    table = {name.strip("` ") for cells in rows("### Services") for name in cells[1].split(",")}
    assert table == {method.name for service in SERVICES for method in service.methods}


def test_the_readme_states_the_limits():
    """The limits table carries the numbers that the code uses."""
    limits = {cells[0]: cells[1] for cells in rows("## Limits")}
    assert limits["Path"].startswith(f"{MAX_PATH_BYTES:,} bytes, {MAX_SEGMENT_BYTES} a segment")
    assert limits["Document"].startswith(f"{Settings().document_bytes // 1024 // 1024} MiB")


def test_the_readme_names_every_runtime_dependency():
    """Each dependency has its reason in the README, and none that is gone is still explained."""
    projects = [ROOT / "pyproject.toml", ROOT / "clients" / "python" / "pyproject.toml"]
    names = set()
    for project in projects:
        with project.open("rb") as file:
            dependencies = tomllib.load(file)["project"]["dependencies"]
        names |= {re.split(r"[<>=~!\[ ]", dependency)[0] for dependency in dependencies}
    explained = {name.strip("` ") for cells in rows("## Dependencies") for name in cells[0].split(",")}
    assert explained == names - {"ironclaw-memory-client"}


def test_the_makefile_targets_that_the_readme_names_exist():
    """A command in the README can be typed."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", README, re.MULTILINE)) <= targets
