"""`watch_events` against the real service, with both clients."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from ironclaw_memory_client import AsyncMemoryClient, DeadlineExceededError, InvalidArgumentsError, MemoryClient, Scope


@pytest.fixture
def scope(request: pytest.FixtureRequest) -> Scope:
    return Scope(tenant=f"watch-{request.node.name}", user="ann", agent="helper")


def test_events_come_as_values(service: str, scope: Scope) -> None:
    """The first item tells the place alone; then each event has its facts, and its scope can be used as it is."""
    with MemoryClient(service, scope) as memory:
        watch = memory.watch_events()
        first = next(watch)
        assert first.event is None
        memory.write("User prefers tea.", target="memory", correlation_id="corr-9")
        checked, written = (item.event for item in (next(watch), next(watch)))
        watch.close()
    assert checked is not None
    assert checked.safety is not None
    assert (checked.kind, checked.safety.protected_class, checked.safety.severity) == ("checked", "memory_md", "none")
    assert written is not None
    assert (written.kind, written.size_bytes, written.correlation_id) == ("written", 18, "corr-9")
    assert (written.scope, written.safety, written.curation) == (scope, None, None)


def test_a_cursor_goes_on_where_it_was_taken(service: str, scope: Scope) -> None:
    """What happened after the item comes first, and only of the kinds that were asked for."""
    with MemoryClient(service, scope) as memory:
        watch = memory.watch_events()
        cursor = next(watch).cursor
        watch.close()
        memory.write("a", target="a.md")
        memory.search("a")
        memory.delete_document("a.md")
        again = memory.watch_events(cursor=cursor, kinds=["written", "deleted"])
        kinds = [item.event.kind for item in (next(again), next(again), next(again)) if item.event]
        again.close()
    assert kinds == ["written", "deleted"]


def test_the_asyncio_client_watches_too(service: str, scope: Scope) -> None:
    """The same items on a loop; leaving the block ends the watch."""

    async def watch() -> list[str]:
        async with AsyncMemoryClient(service, scope) as memory, aclosing(memory.watch_events()) as items:
            await anext(items)
            await memory.write("a", target="a.md")
            item = await anext(items)
            return [item.event.kind if item.event else ""]

    assert asyncio.run(watch()) == ["written"]


def test_failures_that_stay_are_raised(service: str, scope: Scope) -> None:
    """A cursor that is none is refused by the service, a kind that is none before anything is sent, and time ends."""
    with MemoryClient(service, scope) as memory:
        with pytest.raises(InvalidArgumentsError):
            next(memory.watch_events(cursor="made-up"))
        with pytest.raises(ValueError, match="no kind"):
            memory.watch_events(kinds=["rained"])
        with pytest.raises(DeadlineExceededError):
            list(memory.watch_events(deadline=0.3))
