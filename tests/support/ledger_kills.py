"""Spenders and servers killed at one moment or another: what was acknowledged, and what is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import TacitError
from tacit.ledger import Cap, Ledger, LedgerUnavailable
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


def kill_workers(
    opened: Callable[[], Ledger],
    server: Server,
    rounds: int,
    *,
    workers: int = 3,
    fault: Fault | None = None,
) -> KillReport:
    """Kill one of several spending workers in each round, and every second time the server, too.

    The workers that are left ask again, with the same key, whatever failed in between.
    """
    with opened() as ledger:
        ledger.open_budget(FILMS, Cap.pure("1000"))
    told: dict[str, bytes] = {}
    lost = changed = 0
    for round_ in range(rounds):
        spenders = [_start_worker(opened, f"{round_}-{n}", fault) for n in range(workers)]
        for _, reader in spenders:
            told.update(_read_answers(reader, least=1))
        time.sleep(0.1 * (round_ * 37 % 101) / 101)
        os.kill(spenders[round_ % workers][0], signal.SIGKILL)
        if round_ % 2:
            server.kill()
            server.start()
        for spender, reader in spenders:
            if spender != spenders[round_ % workers][0]:
                os.kill(spender, signal.SIGTERM)
            told.update(_read_answers(reader))
            os.close(reader)
            os.waitpid(spender, 0)
        try:
            with opened() as ledger:
                found = ledger.verify()
                new = {key: told[key] for key in told if key.startswith(f"{round_}-")}
                wrong = [_looked_up(ledger, key, answer) for key, answer in new.items()]
                lost += wrong.count("lost") + max(0, len(told) - ledger.balance(FILMS).spent)
                changed += wrong.count("changed")
        except TacitError as refused:
            return KillReport(round_ + 1, len(told), lost, changed, (str(refused),))
        if not found.is_sound:
            return KillReport(round_ + 1, len(told), lost, changed, found.problems)
    return KillReport(rounds, len(told), lost, changed, ())


def _start_worker(opened: Callable[[], Ledger], name: str, fault: Fault | None) -> tuple[int, int]:
    """A process that spends until it is ended, and the pipe on which it says its answers."""
    reader, writer = os.pipe()
    spender = fork()
    if spender:
        os.close(writer)
        return spender, reader
    try:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        if fault is not None:
            fault(setattr)
        for n in range(10_000):
            answer = _ask_until_answered(opened, f"{name}-{n}")
            os.write(writer, f"{name}-{n} {answer.hex()}\n".encode())
    finally:
        os._exit(0)


_LEDGERS: dict[int, Ledger] = {}
"""The open ledger of a worker, by its process."""


def _ask_until_answered(opened: Callable[[], Ledger], key: str) -> bytes:
    """The answer to a request, which is repeated while the server is away."""
    while True:
        try:
            ledger = _LEDGERS.get(os.getpid()) or opened()
            _LEDGERS[os.getpid()] = ledger
            return ask(ledger, key, FILMS).answer
        except LedgerUnavailable:
            time.sleep(0.05)


def _read_answers(reader: int, *, least: int | None = None) -> dict[str, bytes]:
    """Answers that a worker has said: at least so many lines; None: all until its end."""
    said = b""
    while least is None or said.count(b"\n") < least or not said.endswith(b"\n"):
        got = os.read(reader, 4096)
        if not got:
            break
        said += got
    lines = [line.split() for line in said.decode().splitlines(keepends=True) if line[-1] == "\n"]
    return {key: bytes.fromhex(answer) for key, answer in lines}


def _looked_up(ledger: Ledger, key: str, answer: bytes) -> str:
    release = ask(ledger, key, FILMS)
    if not release.repeated:
        return "lost"
    return "" if release.answer == answer else "changed"
