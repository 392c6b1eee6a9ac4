"""Many spenders at once on one ledger, with retries and misused keys: what went wrong, counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from tacit.errors import TacitError
from tacit.ledger import (
    BudgetExhausted,
    Cap,
    Charge,
    Cost,
    Holder,
    KeyReused,
    Ledger,
    Request,
    Unit,
)

FILMS = Holder.dataset("shop", "films")
PEOPLE = tuple(Holder.subject("shop", f"u{n}") for n in range(50))
STEP = Cost(Unit.PURE, 1)

_RETRIED, _REUSED = 10, 50
"""Every tenth request is asked again, every fiftieth key is used again for something else."""


@dataclass(frozen=True)
class CrowdReport:
    """Counts of one crowd. Everything from `over` on has to be nothing.

    granted, exhausted: spends that were acknowledged, and refused for want of budget.
    over: steps above a cap. lost: acknowledged spends that the reopened ledger does not know.
    changed: answers that came back with other bytes. miscounted: steps between what was granted and
    what the budgets say, or could have granted. unrefused: misused keys that were answered.
    """

    spenders: int
    asked: int
    granted: int
    exhausted: int
    retried: int
    reused: int
    seconds: float
    over: int
    lost: int
    changed: int
    miscounted: int
    unrefused: int
    errors: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong."""
        wrong = self.over + self.lost + self.changed + self.miscounted + self.unrefused
        return not wrong and not self.errors


class _Spender:
    """One subject: its keys are numbers, as everybody else's are."""

    def __init__(self, number: int, times: int) -> None:
        self.number, self.times = number, times
        self.answers: dict[int, bytes] = {}
        self.exhausted = self.retried = self.reused = self.changed = self.unrefused = 0
        self.error = ""

    def run(self, ledger: Ledger, start: threading.Barrier) -> None:
        start.wait()
        try:
            for n in range(self.times):
                self.once(ledger, n)
        except TacitError as error:
            self.error = f"{type(error).__name__}: {error}"

    def once(self, ledger: Ledger, n: int) -> None:
        try:
            self.answers[n] = self.ask(ledger, n)
        except BudgetExhausted:
            self.exhausted += 1
            return
        if n % _RETRIED == 0:
            self.retried += 1
            self.changed += self.ask(ledger, n) != self.answers[n]
        if n % _REUSED == 1:
            self.reused += 1
            try:
                self.ask(ledger, n, b"another payload")
                self.unrefused += 1
            except KeyReused:
                pass

    def ask(self, ledger: Ledger, n: int, payload: bytes = b"p") -> bytes:
        request = Request("shop", f"s{self.number}", "list", f"k{n}", payload)
        charges = [Charge(FILMS, STEP), Charge(person_of(self.number, n), STEP)]
        answer = f"{self.number} {n} {time.monotonic_ns()}".encode()
        return ledger.release(request, charges, lambda _: answer).answer

    def look_again(self, ledger: Ledger) -> Iterator[bytes | None]:
        """What every acknowledged key gives now; None if it does not know it."""
        for n in self.answers:
            try:
                yield self.ask(ledger, n)
            except TacitError:
                yield None


def person_of(spender: int, n: int) -> Holder:
    """Whose budget pays for one request."""
    return PEOPLE[(spender + n) % len(PEOPLE)]


def crowd(
    opened: Callable[[], Ledger], *, spenders: int, times: int, cap: int, openings: int = 2
) -> CrowdReport:
    """Every spender asks `times` for one step of the data set's budget and of a person's.

    opened: opens one and the same new ledger. cap: steps of each person's budget. openings: how
    many of them share the work, as processes would.
    """
    crowd = [_Spender(number, times) for number in range(spenders)]
    with ExitStack() as stack:
        ledgers = [stack.enter_context(opened()) for _ in range(openings)]
        ledgers[0].open_budget(FILMS, Cap.pure("1000"))
        for person in PEOPLE:
            ledgers[0].open_budget(person, Cap(Unit.PURE, cap))
        start = threading.Barrier(spenders)
        began = time.monotonic()
        _at_once(lambda spender: spender.run(ledgers[spender.number % openings], start), crowd)
        seconds = time.monotonic() - began
    return _counted(opened, crowd, cap=cap, seconds=seconds)


def _counted(
    opened: Callable[[], Ledger], crowd: list[_Spender], *, cap: int, seconds: float
) -> CrowdReport:
    errors = [spender.error for spender in crowd if spender.error]
    over = lost = changed = miscounted = 0
    granted = sum(len(spender.answers) for spender in crowd)
    try:
        with opened() as ledger:
            spent = [ledger.balance(person).spent for person in PEOPLE]
            over = sum(max(0, steps - cap) for steps in spent)
            miscounted = abs(sum(spent) - granted) + abs(ledger.balance(FILMS).spent - granted)
            miscounted += abs(_covered(crowd, cap) - granted)
            lost, changed = _looked_again(ledger, crowd)
            errors += ledger.verify().problems
    except TacitError as refused:
        errors.append(f"{type(refused).__name__}: {refused}")
    return CrowdReport(
        spenders=len(crowd),
        asked=sum(spender.times for spender in crowd),
        granted=granted,
        exhausted=sum(spender.exhausted for spender in crowd),
        retried=sum(spender.retried for spender in crowd),
        reused=sum(spender.reused for spender in crowd),
        seconds=seconds,
        over=over,
        lost=lost,
        changed=changed + sum(spender.changed for spender in crowd),
        miscounted=miscounted,
        unrefused=sum(spender.unrefused for spender in crowd),
        errors=tuple(dict.fromkeys(errors)),
    )


def _covered(crowd: list[_Spender], cap: int) -> int:
    """How many spends the budgets cover."""
    asked = dict.fromkeys(PEOPLE, 0)
    for spender in crowd:
        for n in range(spender.times):
            asked[person_of(spender.number, n)] += 1
    return sum(min(cap, times) for times in asked.values())


def _looked_again(ledger: Ledger, crowd: list[_Spender]) -> tuple[int, int]:
    """Acknowledged spends that are lost, and answers that changed."""
    before = ledger.balance(FILMS).spent
    found: dict[int, list[bytes | None]] = {}

    def look(spender: _Spender) -> None:
        found[spender.number] = list(spender.look_again(ledger))

    _at_once(look, crowd)
    wrong = sum(
        now != then
        for spender in crowd
        for now, then in zip(found[spender.number], spender.answers.values(), strict=True)
    )
    lost = sum(answer is None for answers in found.values() for answer in answers)
    charged_again = ledger.balance(FILMS).spent - before
    return lost + charged_again, wrong - lost


def _at_once(work: Callable[[_Spender], None], crowd: list[_Spender]) -> None:
    threads = [threading.Thread(target=work, args=(spender,)) for spender in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
