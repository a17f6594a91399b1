"""The page on credentials says what the code does."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from ironclaw_memory.contract.grant import parse_grant
from ironclaw_memory.credentials.certificates import parse_certificate_grants
from ironclaw_memory.credentials.key_text import make_key
from ironclaw_memory.credentials.tokens import GRANT_CLAIM, REQUIRED_CLAIMS
from ironclaw_memory.interceptors.permissions import PERMISSIONS
from ironclaw_memory.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "credentials.md").read_text("utf-8")
SERVICE = re.compile(r"all of `(\w+)`")


def fences(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_permission_table_is_the_codes():
    """Each row opens just the methods whose entry is that set of permissions; tools by name follow their RPCs."""
    told: dict[frozenset[str], set[str]] = {}
    for cells in re.findall(
        r"^\| (`\w+`(?: and `\w+`)?) \| (.+) \|$", PAGE.split("| permission | opens |")[1], re.MULTILINE
    ):
        names = set(re.findall(r"`([A-Z]\w+)`", SERVICE.sub("", cells[1])))
        for service in SERVICE.findall(cells[1]):
            names |= {name.rpartition("/")[2] for name in PERMISSIONS if f".{service}/" in name}
        told[frozenset(re.findall(r"`(\w+)`", cells[0]))] = names
    coded: dict[frozenset[str], set[str]] = {}
    for method, alternatives in PERMISSIONS.items():
        for needed in alternatives:
            coded.setdefault(frozenset(needed), set()).add(method.rpartition("/")[2])
    assert told == {needed: names - {"InvokeTool"} for needed, names in coded.items()}


def test_the_examples_are_understood():
    """The token's claims and the file of certificates are what the code reads."""
    claims = json.loads(fences("json")[0])
    assert set(claims) == set(REQUIRED_CLAIMS)
    parse_grant(claims[GRANT_CLAIM])
    assert len(parse_certificate_grants(fences("toml")[0].encode())) == len(tomllib.loads(fences("toml")[0]))


def test_every_flag_exists():
    """A flag on the page is a setting, or one of the commands'."""
    of_commands = {"data-dir", "tenant", "user", "any-user", "agent", "project", "permission", "days", "name"}
    of_commands |= {"overlap-hours", "ca", "certificate", "private-key"}
    flags = set(re.findall(r"--([a-z][a-z-]+)", PAGE))
    assert flags - of_commands <= {name.replace("_", "-") for name in Settings.model_fields}


def test_the_pattern_for_scanners_matches_keys():
    """What an operator copies into a scanner finds what `keys create` makes."""
    (pattern,) = re.findall(r"pattern is `([^`]+)`", PAGE)
    assert all(re.fullmatch(pattern, make_key()) for _ in range(100))
