"""Which permissions each method needs, as one table. A method that isn't in it can't be served: the assembly refuses.

Each entry lists the alternatives; of one of them the caller must have every permission.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from ironclaw_memory.contract.grant import Grant, Permission

READ, WRITE, RECORD, ADMIN, EVENTS = Permission
Alternatives = tuple[tuple[Permission, ...], ...]

_TABLE: Final[dict[str, dict[str, Alternatives]]] = {
    "MemoryService": {
        "Write": ((WRITE,),),
        "Read": ((READ,),),
        "Search": ((READ,),),
        "Tree": ((READ,),),
        "ProfileSet": ((WRITE,),),
        "ListTools": ((READ,), (WRITE,)),
        "InvokeTool": ((READ,), (WRITE,)),  # which of them depends on the tool, and is asked there
    },
    "MemoryLifecycleService": {
        "ReadLongTerm": ((READ,),),
        "ReadShortTerm": ((READ,),),
        "RetrieveContext": ((READ,),),
        "RecordInteraction": ((RECORD,),),
        "ProfileRead": ((READ,),),
        "ClaimCuration": ((READ, WRITE),),  # hands out MEMORY.md, to be written
        "CompleteCuration": ((READ, WRITE),),
    },
    "MemoryAdminService": {
        "ListVersions": ((ADMIN,),),
        "ReadVersion": ((ADMIN,),),
        "RestoreVersion": ((ADMIN,),),
        "DeleteDocument": ((ADMIN,),),
        "GetScopeStats": ((ADMIN,),),
    },
    "MemoryEventService": {
        "WatchEvents": ((READ,), (EVENTS,)),  # one's own scope; the whole tenant needs `events`, and is asked there
    },
}

PERMISSIONS: Final = MappingProxyType(
    {
        f"/ironclaw.memory.v1.{service}/{name}": needed
        for service, methods in _TABLE.items()
        for name, needed in methods.items()
    }
)

WRITING: Final = frozenset({WRITE, RECORD})
"""Permissions whose methods take text to be stored; `admin` among them only where a request streams text in."""


def check_permissions(grant: Grant, method: str) -> None:
    """Return when the grant allows the method, a full name with slashes.

    Raises:
        PermissionForbidden: it doesn't; named is what the first alternative lacks.
    """
    alternatives = PERMISSIONS[method]
    if not any(grant.permissions.issuperset(needed) for needed in alternatives):
        grant.require(*alternatives[0])


def check_table(methods: Iterable[str]) -> None:
    """Return when every method that is to be served has its permissions.

    Raises:
        LookupError: one was forgotten; a fault of the assembly.
    """
    if forgotten := sorted(set(methods) - PERMISSIONS.keys()):
        raise LookupError(f"no permissions for {', '.join(forgotten)}")


def may_write(method: str) -> bool:
    """Tell whether the method's requests carry text to be stored."""
    return any(not WRITING.isdisjoint(needed) for needed in PERMISSIONS[method])
