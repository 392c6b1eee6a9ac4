"""Spenders and servers killed at one moment or another: what was acknowledged, and what is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import TacitError
from tacit.ledger import Cap, Ledger
from tests.support.ledger_faults import Fault
from tests.support.ledger_requests import FILMS, ask, fork
from tests.support.postgres_server import Server

_ANSWER = 16
"""Bytes of an answer."""


@dataclass(frozen=True)
class KillReport:
    """Counts over all rounds. told: acknowledged answers. The others have to be nothing.

    lost: told, and gone after the restart. changed: told, and another one now. problems: what a
    replay found, or why the ledger does not open.
    """

    rounds: int
    told: int
    lost: int
    changed: int
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong, and something was told at all."""
        return self.told > 0 and not (self.lost or self.changed or self.problems)


def kill_spenders(
    opened: Callable[[], Ledger], rounds: int, fault: Fault | None = None
) -> KillReport:
    """Kill a spending process (SIGKILL) in each round, then look with another one.

    fault: planted in the spending process.
    """

    def kill(spender: int) -> None:
        os.kill(spender, signal.SIGKILL)

    return _killed(opened, rounds, kill, lambda: None, fault)


def kill_server(
    opened: Callable[[], Ledger], server: Server, rounds: int, fault: Fault | None = None
) -> KillReport:
    """Kill all of PostgreSQL (SIGKILL) under a spending process in each round, and restart it."""
    return _killed(opened, rounds, lambda _: server.kill(), server.start, fault)


def _killed(
    opened: Callable[[], Ledger],
    rounds: int,
    kill: Callable[[int], None],
    restart: Callable[[], None],
    fault: Fault | None,
) -> KillReport:
    """opened: opens one and the same ledger, new at first."""
    with opened() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1000"))
    told: dict[str, bytes] = {}
    lost = changed = 0
    for round_ in range(rounds):
        new = _round(opened, round_, kill, fault)
        restart()
        told.update(new)
        try:
            with opened() as ledger:
                found = ledger.verify()
                wrong = [_looked_up(ledger, key, answer) for key, answer in new.items()]
                lost += wrong.count("lost") + max(0, len(told) - ledger.balance(FILMS).spent)
                changed += wrong.count("changed")
        except TacitError as refused:
            return KillReport(round_ + 1, len(told), lost, changed, (str(refused),))
        if not found.is_sound:
            return KillReport(round_ + 1, len(told), lost, changed, found.problems)
    return KillReport(rounds, len(told), lost, changed, ())


def _round(
    opened: Callable[[], Ledger], round_: int, kill: Callable[[int], None], fault: Fault | None
) -> dict[str, bytes]:
    """The answers that a spender was given before it, or its server, was killed."""
    reader, writer = os.pipe()
    spender = fork()
    if spender == 0:
        try:
            if fault is not None:
                fault(setattr)
            ledger = opened()
            for n in range(10_000):
                os.write(writer, ask(ledger, f"{round_}-{n}", FILMS).answer)
        finally:
            os._exit(0)
    os.close(writer)
    told = os.read(reader, _ANSWER)
    time.sleep(0.1 * (round_ * 37 % 101) / 101)
    kill(spender)
    while got := os.read(reader, 4096):
        told += got
    os.close(reader)
    os.waitpid(spender, 0)
    whole = range(len(told) // _ANSWER)
    return {f"{round_}-{n}": told[_ANSWER * n : _ANSWER * (n + 1)] for n in whole}


def _looked_up(ledger: Ledger, key: str, answer: bytes) -> str:
    release = ask(ledger, key, FILMS)
    if not release.repeated:
        return "lost"
    return "" if release.answer == answer else "changed"
