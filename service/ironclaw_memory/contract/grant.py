"""What a credential allows: which scopes, which permissions, and what its writes count as. Pure.

How a credential is proven is the `credentials` room's affair; here is only what follows from one that was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from .faults import PermissionForbidden, ScopeForbidden, ScopeInvalid
from .scope import ABSENT, check_segment


class Permission(StrEnum):
    """What a caller may do; none implies another."""

    READ = "read"
    WRITE = "write"
    RECORD = "record"
    ADMIN = "admin"
    EVENTS = "events"


class SourceClass(StrEnum):
    """Who speaks through a credential; the server puts it on what is written, whatever the request says."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"


ANY: Final = "any"
"""Stands for every id of an axis, in place of the list: an id called `any` in a list is that id and nothing else."""

Ids = frozenset[str | None] | None
"""Ids that a grant allows on one axis; None among them is the absent agent or project, None instead of them is any."""

Asked = tuple[str | None, str | None, str | None, str | None]
"""Tenant, user, agent and project as a call names them; None where it doesn't."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Which scopes a caller may name, and what it may do there.

    Attributes:
        tenant: the one tenant.
        users, agents, projects: the ids allowed on each axis.
        permissions: what may be done, on all of these scopes alike.
        source: what writes by this credential count as.
    """

    tenant: str
    users: Ids
    agents: Ids
    projects: Ids
    permissions: frozenset[Permission]
    source: SourceClass = SourceClass.AGENT

    def confine(self, asked: Asked) -> Asked:
        """Return the scope that is meant: an axis that the grant pins to one id is filled where it was left out.

        Raises:
            ScopeForbidden: the grant doesn't reach that far. The refusal is the same whatever exists there.
        """
        tenant, user, agent, project = asked
        if tenant not in (None, self.tenant):
            raise ScopeForbidden
        if user is not None or (self.users is not None and len(self.users) == 1):
            user = _confine(self.users, user)  # left out where several are possible, it is SCOPE_MISSING
        return self.tenant, user, _confine(self.agents, agent), _confine(self.projects, project)

    def require(self, *needed: Permission) -> None:
        """Return when all of these are permitted.

        Raises:
            PermissionForbidden: one isn't.
        """
        for permission in needed:
            if permission not in self.permissions:
                raise PermissionForbidden(permission.value)


def _confine(allowed: Ids, asked: str | None) -> str | None:
    if allowed is None or asked in allowed:
        return asked
    if asked is None and len(allowed) == 1:
        return next(iter(allowed))
    raise ScopeForbidden


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller whose credential was proven.

    Attributes:
        name: for logs and events: the way and the id, such as `api_key:k3v9x2m7qa`; never a secret.
        grant: what the credential allows.
    """

    name: str
    grant: Grant


class GrantInvalid(Exception):  # a configuration's fault, not a call's
    """A grant can't be understood. The message is for whoever wrote it and says which key is wrong."""


_AXES: Final = ("users", "agents", "projects")
_KEYS: Final = frozenset({"tenant", *_AXES, "permissions", "source"})


def parse_grant(given: Any) -> Grant:
    """Return the grant that an object describes: in the keys' file, in a token's claim, in the map of certificates.

    `tenant` is an id; `users`, `agents` and `projects` are each `"any"` or a list of ids, `_none` among agents and
    projects being the absent one; `permissions` is a list; `source` is optional. Nothing but agents and projects may be
    left out, which then are any.

    Raises:
        GrantInvalid: a key is missing, unknown or wrong: a misspelt restriction must not widen a grant.
    """
    if not isinstance(given, Mapping):
        raise GrantInvalid("a grant must be an object")
    if unknown := given.keys() - _KEYS:
        raise GrantInvalid(f"a grant has no {min(map(str, unknown))!r}")
    if missing := {"tenant", "users", "permissions"} - given.keys():
        raise GrantInvalid(f"a grant needs {min(missing)!r}")
    users, agents, projects = (_parse_ids(given.get(axis, ANY), axis) for axis in _AXES)
    return Grant(
        tenant=_parse_id(given["tenant"], "tenant"),
        users=users,
        agents=agents,
        projects=projects,
        permissions=_parse_permissions(given["permissions"]),
        source=_parse_source(given.get("source", SourceClass.AGENT.value)),
    )


def grant_record(grant: Grant) -> dict[str, Any]:
    """Return the object that `parse_grant` reads back."""
    ids = {axis: _ids_record(getattr(grant, axis)) for axis in _AXES}
    permissions = [permission.value for permission in Permission if permission in grant.permissions]
    return {"tenant": grant.tenant, **ids, "permissions": permissions, "source": grant.source.value}


def _ids_record(ids: Ids) -> Any:
    return ANY if ids is None else sorted(ABSENT if id_ is None else id_ for id_ in ids)


def _parse_ids(given: Any, axis: str) -> Ids:
    if given == ANY:
        return None
    if not isinstance(given, list) or not given:
        raise GrantInvalid(f"{axis} must be {ANY!r} or a list of ids that isn't empty")
    optional = axis != "users"
    return frozenset(None if optional and id_ == ABSENT else _parse_id(id_, axis) for id_ in given)


def _parse_id(given: Any, key: str) -> str:
    if not isinstance(given, str):
        raise GrantInvalid(f"{key}: an id must be text")
    try:
        return check_segment(given, key.removesuffix("s"))
    except ScopeInvalid as fault:
        raise GrantInvalid(f"{key}: {fault.message}") from None


def _parse_permissions(given: Any) -> frozenset[Permission]:
    try:
        permissions = frozenset(Permission(name) for name in given if isinstance(given, list))
    except (TypeError, ValueError):
        permissions = frozenset()
    if not permissions:
        raise GrantInvalid(f"permissions must be a list of some of: {', '.join(Permission)}")
    return permissions


def _parse_source(given: Any) -> SourceClass:
    try:
        return SourceClass(given)
    except ValueError:
        raise GrantInvalid(f"source must be one of: {', '.join(SourceClass)}") from None
