"""Requests to a ledger, as its conformance tests and those of its stores make them."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine

from tacit.errors import TacitError
from tacit.ledger import (
    Charge,
    Cost,
    Holder,
    Ledger,
    Release,
    Request,
    operator_anchor,
    sqlite,
)
from tacit.randomness import Source

T = TypeVar("T")

KEY = bytes(range(32))
"""The operator's key of the ledgers under test."""
ANCHOR = operator_anchor(KEY)
"""The anchor of this key, computed once because it takes 10,000 hashes."""

FILMS = Holder.dataset("shop", "films")
ANN = Holder.subject("shop", "ann")
BOB = Holder.subject("shop", "bob")


def ask(
    ledger: Ledger,
    key: str,
    holder: Holder,
    *,
    steps: int = 1,
    payload: bytes = b"p",
    draw: Callable[[Source], object] | None = None,
) -> Release:
    """One release from one budget, for `steps` millionths of a nat."""
    request = Request(holder.tenant, "x", "list", key, payload)
    charge = Charge(holder, Cost.pure(f"0.{steps:06d}"))
    return ledger.release(request, [charge], draw or noise)  # type: ignore[arg-type]  # on purpose


def pay(ledger: Ledger, key: str, cost: Cost) -> Release:
    """One release from the budget of films, at any cost."""
    request = Request(FILMS.tenant, "x", "list", key, b"p")
    return ledger.release(request, [Charge(FILMS, cost)], noise)


CLOCK_STEPS = (1, -1, 8 * 86_400, -8 * 86_400, 2 * 365 * 86_400, -4 * 365 * 86_400, 2**31, -(2**32))
"""Seconds by which a clock is set forward or back: also over a week, years and 32 bits."""


@contextmanager
def stepping_clock() -> Iterator[Callable[[float], None]]:
    """Let the clock of the wall, as Python reads it, be set by so many seconds at a time."""
    shipped = time.time, time.time_ns
    offset = 0.0

    def step(seconds: float) -> None:
        nonlocal offset
        offset += seconds

    time.time = lambda: shipped[0]() + offset
    time.time_ns = lambda: shipped[1]() + int(offset * 10**9)
    try:
        yield step
    finally:
        time.time, time.time_ns = shipped


def count(
    ledger: Ledger,
    key: str,
    *charged: Holder,
    steps: int = 1,
    payload: bytes = b"p",
    draw: Callable[[Source, bytes | None], object] | None = None,
    state: str = "rounds/a",
) -> Release:
    """Add one to a kept number; the answer is the new one."""
    charges = [Charge(holder, Cost.pure(f"0.{steps:06d}")) for holder in charged]
    request = Request("shop", "x", "count", key, payload)
    return ledger.release(request, charges, draw or _next, state=state)  # type: ignore[arg-type]


def engine_of(ledger: Ledger) -> Engine:
    """Its connections to the store, for who interferes with them."""
    with ledger.read_transaction() as connection:
        return connection.engine


def refused(kind: type[TacitError], call: Callable[[], object]) -> str:
    """What it says; an AssertionError if nothing or something else was raised."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


@contextmanager
def by_hand(path: str | Path) -> Iterator[sqlite3.Connection]:
    """A store in a file, for who edits it without its guards. Where it is open in this process it
    is the owner's own connection, since there is no other one."""
    for owned in list(sqlite._CONNECTIONS):
        if owned._path == Path(path):
            with suppress(sqlite3.ProgrammingError):  # closed
                yield _unguarded(owned)
                return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield _unguarded(connection)


def _unguarded(connection: sqlite3.Connection) -> sqlite3.Connection:
    named = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    for (name,) in connection.execute(named).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


def fork() -> int:
    """As `os.fork`. Python warns of locks that other threads may hold; a child opens its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def one(holder: Holder) -> Charge:
    return Charge(holder, Cost.pure("0.000001"))


def noise(_: Source) -> bytes:
    return secrets.token_bytes(16)


def _next(_: Source, before: bytes | None) -> tuple[bytes, bytes]:
    after = b"%d" % (int(before or 0) + 1)
    return after, after


def never(_: Source) -> bytes:
    raise AssertionError("nothing may be drawn here")


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """`work(0)` to `work(count - 1)`, each in a thread of its own, started together."""
    found: dict[int, T] = {}
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        found[number] = work(number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(count)]
