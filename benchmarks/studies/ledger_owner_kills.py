"""The owner of a ledger killed at random moments while two workers ask it: what was acknowledged.

    python benchmarks/studies/ledger_owner_kills.py [--kills 10000] [--json]

Each round forks an owner as a service has it (`tacit.service.owner`: the socket, the frames, shared
commits, the log emptied by its clock) on one ledger, lets it live for up to a tenth of a second
after it can be asked, and kills it (SIGKILL). A process beside has two connections, as two workers
have, with eight people each: everybody asks with one key until it is answered. After every
thousand kills all that was acknowledged is asked once more, and the log is replayed.
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
from collections.abc import Callable
from dataclasses import asdict, dataclass
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

BATCH = 1000
"""Kills on one ledger."""
LIVES = 0.1
PEOPLE = 8
"""Of each worker."""


@dataclass(frozen=True)
class OwnerKills:
    """told: acknowledged answers. lost, changed, miscounted and problems have to be nothing.

    miscounted: steps between what the budget says and the releases that the log has.
    unanswered: requests that were on their way, or in vain, when an owner was killed.
    """

    kills: int
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
    chance = random.Random(seed)  # noqa: S311  # how long each lives
    path = folder / "budgets.db"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1000"))
    workers = _beside(lambda: asyncio.run(_workers(path, folder / "told.json")))
    for _ in range(kills):
        reader, writer = os.pipe()
        owner = _beside(lambda out=writer: asyncio.run(_own(path, out, fault)))  # type: ignore[misc]
        os.close(writer)
        os.read(reader, 1)  # it can be asked, or has ended
        os.close(reader)
        time.sleep(LIVES * chance.random())
        os.kill(owner, signal.SIGKILL)
        os.waitpid(owner, 0)
    os.kill(workers, signal.SIGTERM)
    os.waitpid(workers, 0)
    told = json.loads((folder / "told.json").read_text())
    return _looked_at(path, kills, told["answers"], told["unanswered"])


def _looked_at(path: Path, kills: int, told: dict[str, str], unanswered: int) -> OwnerKills:
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
    return OwnerKills(kills, len(told), unanswered, lost, changed, miscounted, problems)


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


async def _workers(path: Path, to: Path) -> None:
    answers: dict[str, str] = {}
    vain = [0]
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)

    async def person(link: Link, name: str) -> None:
        for number in range(10**9):
            key = f"{name}-{number}"
            while not over.is_set():
                try:
                    made = await link._ask(_request(key), asyncio.get_running_loop().time() + 2)
                except Problem:
                    vain[0] += 1
                    await asyncio.sleep(0.005)
                else:
                    answers[key] = bytes(made.body).hex()
                    break

    links = [Link(path) for _ in range(2)]
    people = [
        asyncio.ensure_future(person(link, f"{at}-{n}"))
        for at, link in enumerate(links)
        for n in range(PEOPLE)
    ]
    await over.wait()
    for one in people:
        one.cancel()
    to.write_text(json.dumps({"answers": answers, "unanswered": vain[0]}))


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
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    found = []
    for batch, begun in enumerate(range(0, arguments.kills, BATCH)):
        with tempfile.TemporaryDirectory(prefix="owner-kills-") as folder:
            found.append(kill_owners(Path(folder), min(BATCH, arguments.kills - begun), batch))
        if not arguments.json:
            print(found[-1], flush=True)
    names = ("kills", "told", "unanswered", "lost", "changed", "miscounted")
    total = {name: sum(getattr(one, name) for one in found) for name in names}
    total["problems"] = [one for each in found for one in asdict(each)["problems"]]
    print(json.dumps(total, sort_keys=True) if arguments.json else total)
    sys.exit(0 if all(one.sound for one in found) else 1)


if __name__ == "__main__":
    main()
