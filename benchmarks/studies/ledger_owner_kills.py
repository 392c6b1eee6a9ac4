"""The owner of a ledger and its workers killed at random moments while requests run.

    python benchmarks/studies/ledger_owner_kills.py [--kills 10000] [--done FILE] [--json]

An owner is forked as a service has it (`tacit.service.owner`: the socket, the frames, shared
commits, the log emptied by its clock) on one ledger, and two workers, each with its connection and
eight people: everybody asks with one key until it is answered, and what is answered is written down
before the next is asked. Every tenth of a second or less one of them is killed (SIGKILL): the owner
half of the times, or one of the workers. Another one takes its place; a worker's people go on with
the key that was not answered. After some hundred kills all that was acknowledged is asked once
more, and the log is replayed. With --done a line is added to that file for each part, and a later
run leaves out the parts that stand there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from ledger_faults import Fault
from ledger_requests import FILMS, ask, fork
from starlette.responses import Response

from tacit.errors import TacitError
from tacit.ledger import Cap, Ledger, open_ledger, sqlite
from tacit.service.keys import Caller, Role
from tacit.service.monitoring import Logger
from tacit.service.owner import Executes, Link, Owner
from tacit.service.problems import Problem

BATCH = 250
"""Kills on one ledger."""
LIVES = 0.1
WORKERS, PEOPLE = 2, 8
"""PEOPLE: of each worker."""
_VAIN = "-"
"""In a worker's file: a request that was not answered. The other lines are a key and its answer."""


@dataclass(frozen=True)
class OwnerKills:
    """owners: how many of the kills were of owners. told: acknowledged answers. lost, changed,
    miscounted and problems have to be nothing.

    miscounted: steps between what the budget says and the releases that the log has.
    unanswered: requests that were on their way, or in vain, when an owner was killed.
    """

    kills: int
    owners: int
    told: int
    unanswered: int
    lost: int
    changed: int
    miscounted: int
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong, and something was told at all."""
        wrong = self.lost or self.changed or self.miscounted or self.problems
        return self.told > 0 and not wrong


def kill_owners(folder: Path, kills: int, seed: int, fault: Fault | None = None) -> OwnerKills:
    """On a new ledger in that folder. fault: planted in each owner."""
    chance = random.Random(seed)  # noqa: S311  # who is killed, and when
    path = folder / "budgets.db"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1000"))
    owner, owners = _owner(path, fault), 0
    told = [folder / f"told-{at}" for at in range(WORKERS)]
    workers = [_worker(path, one) for one in told]
    for _ in range(kills):
        time.sleep(LIVES * chance.random())
        if chance.random() < 0.5:
            _kill(owner)
            owner, owners = _owner(path, fault), owners + 1
        else:
            at = chance.randrange(WORKERS)
            _kill(workers[at])
            workers[at] = _worker(path, told[at])
    for one in (*workers, owner):
        _kill(one)
    lines = [line for one in told for line in one.read_text().splitlines()]
    answers = dict(line.split() for line in lines if line != _VAIN)
    return _looked_at(path, kills, owners, answers, lines.count(_VAIN))


def _owner(path: Path, fault: Fault | None) -> int:
    """Its number, when it can be asked or has ended."""
    reader, writer = os.pipe()
    number = _beside(lambda: asyncio.run(_own(path, writer, fault)))
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    return number


def _worker(path: Path, told: Path) -> int:
    return _beside(lambda: asyncio.run(_work(path, told)))


def _kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _looked_at(
    path: Path, kills: int, owners: int, told: dict[str, str], unanswered: int
) -> OwnerKills:
    lost = changed = miscounted = 0
    try:
        with open_ledger(path) as ledger:
            found = ledger.verify()
            miscounted = abs(ledger.balance(FILMS).spent - found.releases)
            for key, answer in told.items():
                again = ask(ledger, key, FILMS)
                lost += not again.repeated
                changed += again.repeated and again.answer.hex() != answer
            problems = found.problems
    except TacitError as refused:
        problems = (str(refused),)
    counts = (kills, owners, len(told), unanswered, lost, changed, miscounted)
    return OwnerKills(*counts, problems)


def _beside(work: Callable[[], Any]) -> int:
    """The number of a process that does it."""
    if (process := fork()) == 0:
        try:
            work()
        finally:
            os._exit(0)
    return process


async def _own(path: Path, out: int, fault: Fault | None) -> None:
    if fault is not None:
        fault(setattr)
    sqlite.LINGERS = LIVES / 3  # often enough that many are killed while the log is emptied
    ledger = open_ledger(path)
    with Path(os.devnull).open("w") as nothing:
        owner = Owner(path, ledger, Logger(nothing))
        await owner.open(cast("Executes", SimpleNamespace(answers=_Answers(ledger))))
        os.write(out, b"x")
        await asyncio.Event().wait()


class _Answers:
    """What a service executes, in one line: a release for the key in the address."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def handed(self, scope: Any, *_: object) -> Response:
        made = await asyncio.to_thread(ask, self._ledger, scope["path"][1:], FILMS)
        return Response(made.answer)


async def _work(path: Path, to: Path) -> None:
    """What is told is written with one call of the system, which a kill does not cut in two."""
    told = os.open(to, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    known = [line.split()[0] for line in to.read_text().splitlines() if line != _VAIN]
    last = Counter(key.rpartition("-")[0] for key in known)  # each has the numbers from 0 on
    link = Link(path)

    async def person(name: str) -> None:
        for number in count(last[name]):
            key = f"{name}-{number}"
            while True:
                try:
                    made = await link.hand(_request(key), asyncio.get_running_loop().time() + 2)
                except Problem:
                    os.write(told, f"{_VAIN}\n".encode())
                    await asyncio.sleep(0.005)
                else:
                    os.write(told, f"{key} {bytes(made.body).hex()}\n".encode())
                    break

    await asyncio.gather(*(person(f"{to.name}-{n}") for n in range(PEOPLE)))


def _request(key: str) -> Any:
    caller = Caller("shop", Role.OPERATOR, "ops")
    scope: dict[str, Any] = {"method": "POST", "path": f"/{key}", "query_string": b""}
    scope |= {"headers": [], "scheme": "http", "client": None}
    scope["state"] = {"caller": caller, "request_id": key}
    return SimpleNamespace(
        scope=scope, state=SimpleNamespace(body=SimpleNamespace(octets=key.encode()))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--done", type=Path, help="a file that keeps what was done")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    found = []
    for batch, begun in enumerate(range(0, arguments.kills, BATCH)):
        part = f"{batch} {min(BATCH, arguments.kills - begun)}"
        if (known := _done(arguments.done, part)) is None:
            with tempfile.TemporaryDirectory(prefix="owner-kills-") as folder:
                known = kill_owners(Path(folder), min(BATCH, arguments.kills - begun), batch)
            if arguments.done is not None:
                with arguments.done.open("a") as file:
                    file.write(json.dumps({"part": part, **asdict(known)}) + "\n")
        found.append(known)
        if not arguments.json:
            print(known, flush=True)
    names = ("kills", "owners", "told", "unanswered", "lost", "changed", "miscounted")
    total = {name: sum(getattr(one, name) for one in found) for name in names}
    total["problems"] = [one for each in found for one in asdict(each)["problems"]]
    print(json.dumps(total, sort_keys=True) if arguments.json else total)
    sys.exit(0 if all(one.sound for one in found) else 1)


def _done(file: Path | None, part: str) -> OwnerKills | None:
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    for row in map(json.loads, lines):
        if row.pop("part") == part:
            return OwnerKills(**{**row, "problems": tuple(row["problems"])})
    return None


if __name__ == "__main__":
    main()
