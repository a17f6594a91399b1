"""The pool of threads that serves calls does everything once, few at a time, and nobody waits for one that hangs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ironclaw_memory import call_threads
from ironclaw_memory.call_threads import CallThreads
from ironclaw_memory.turns import waiting
from tests.server_process import wait_until

SECONDS = 20


@pytest.fixture
def pool():
    pool = CallThreads(3)
    yield pool
    pool.shutdown()


def run(pool, function):
    """Submit and wait; return what the function returned."""
    done, results = threading.Event(), []

    def call():
        results.append(function())

    pool.submit(call).add_done_callback(lambda _: done.set())
    assert done.wait(SECONDS)
    return results[0]


def test_everything_runs_once(pool):
    """Ten thousand tasks from four threads are each done once, and each ending is told once."""
    lock, ran, told, all_told = threading.Lock(), [], [], threading.Event()

    def note(where, number):
        with lock:
            where.append(number)
            if len(told) == 10_000:
                all_told.set()

    def submit(numbers):
        for number in numbers:
            pool.submit(note, ran, number).add_done_callback(lambda _, number=number: note(told, number))

    with ThreadPoolExecutor(4) as callers:
        list(callers.map(submit, [range(start, 10_000, 4) for start in range(4)]))
    assert all_told.wait(SECONDS)
    assert sorted(ran) == sorted(told) == list(range(10_000))


def test_what_is_beyond_the_limit_waits(pool):
    """With every thread taken by calls that hang the next wait until one is free, and then all are done."""
    gate, busy, ran, done = threading.Event(), threading.Semaphore(0), [], threading.Event()

    def block():
        busy.release()
        gate.wait(SECONDS)

    for _ in range(3):
        pool.submit(block)
    for _ in range(3):
        assert busy.acquire(timeout=SECONDS)
    for number in range(5):
        pool.submit(ran.append, number)
    pool.submit(done.set)
    assert ran == []
    gate.set()
    assert done.wait(SECONDS)
    wait_until(lambda: len(ran) == 5, SECONDS, "all have run")
    assert sorted(ran) == [0, 1, 2, 3, 4]


def test_the_thread_that_was_idle_last_is_first(pool):
    """Calls that come one after the other are all served by one thread, though there are others."""
    meeting = threading.Barrier(3)
    for _ in range(3):
        pool.submit(meeting.wait, SECONDS)
    wait_until(lambda: pool.idle_threads == 3, SECONDS, "three threads are idle")
    served = []
    for number in range(1, 51):
        pool.submit(lambda: served.append(threading.get_ident()))
        wait_until(lambda number=number: len(served) == number and pool.idle_threads == 3, SECONDS, "it is idle again")
    assert len(set(served)) == 1


@pytest.fixture
def patience(monkeypatch):
    """No call counts as long, so that only what is tested passes turns on."""
    monkeypatch.setattr(call_threads, "LONG_SECONDS", 1_000)


@pytest.mark.usefixtures("patience")
def test_few_run_at_once(pool):
    """Of many short calls no more than two are ever inside together, though there are threads for three."""
    inside, most, done = [], [], threading.Semaphore(0)

    def visit(number):
        inside.append(number)
        most.append(len(inside))
        inside.remove(number)

    for number in range(2_000):
        pool.submit(visit, number).add_done_callback(lambda _: done.release())
    for _ in range(2_000):
        assert done.acquire(timeout=SECONDS)
    assert max(most) <= 2


@pytest.mark.usefixtures("patience")
def test_who_waits_lets_another_run():
    """A call inside `waiting` holds no turn: with one turn, the call that ends its wait gets in."""
    pool, released, done = CallThreads(3, at_once=1), threading.Event(), threading.Event()

    def wait():
        with waiting():
            assert released.wait(SECONDS)
        done.set()

    pool.submit(wait)
    pool.submit(released.set)
    assert done.wait(SECONDS)
    pool.shutdown()


def test_nobody_waits_for_a_call_that_hangs():
    """Calls that hang without saying so lose their turns, and all that came after them are served."""
    pool, gate, done = CallThreads(5, at_once=2), threading.Event(), threading.Semaphore(0)
    for _ in range(4):
        pool.submit(gate.wait, SECONDS)
    for _ in range(10):
        pool.submit(done.release)
    for _ in range(10):
        assert done.acquire(timeout=SECONDS)
    assert not gate.is_set()
    gate.set()
    pool.shutdown()


def test_out_of_turn():
    """What is submitted out of turn runs beside a call that has the only one, and before those that wait."""
    pool, gate, answered = CallThreads(2, at_once=1), threading.Event(), threading.Event()
    pool.submit(gate.wait, SECONDS)
    pool.submit_out_of_turn(answered.set)
    assert answered.wait(SECONDS)
    gate.set()
    pool.shutdown()


def test_waiting_means_nothing_elsewhere():
    """On a thread that serves no call the block just runs."""
    with waiting():
        pass


def test_a_failing_task_costs_no_thread(pool):
    """After more failures than there are threads the pool goes on, and their endings are told."""
    told = threading.Semaphore(0)

    def fail():
        raise ValueError("as intended")

    for _ in range(10):
        pool.submit(fail).add_done_callback(lambda _: told.release())
    for _ in range(10):
        assert told.acquire(timeout=SECONDS)
    assert run(pool, lambda: "goes on") == "goes on"


def test_a_listener_that_comes_late_is_told_at_once(pool):
    """Listening to what has ended calls back before `add_done_callback` returns."""
    ended, heard = threading.Event(), []
    ending = pool.submit(lambda: None)
    ending.add_done_callback(lambda _: ended.set())
    assert ended.wait(SECONDS)
    ending.add_done_callback(heard.append)
    assert heard == [ending]


def test_after_shutdown_what_was_submitted_is_still_done():
    """What waits is done, nothing more is taken, and the threads end."""
    pool, gate, done = CallThreads(1), threading.Event(), threading.Event()
    before = threading.active_count()
    pool.submit(gate.wait, SECONDS)
    pool.submit(done.set)
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(print)
    gate.set()
    assert done.wait(SECONDS)
    for thread in threading.enumerate():
        if thread.name in {"call", "turns"}:
            thread.join(SECONDS)
    assert threading.active_count() <= before
