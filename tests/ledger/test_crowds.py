"""Many spenders at once, with retries and misused keys: nothing over, lost, or changed."""

from __future__ import annotations

import threading

import pytest

from tacit.ledger import (
    BudgetExhausted,
    Cap,
    Charge,
    Cost,
    Holder,
    KeyReused,
    Request,
    Unit,
    open_ledger,
)

PEOPLE = [Holder.subject("shop", f"u{n}") for n in range(50)]
FILMS = Holder.dataset("shop", "films")


class Spender(threading.Thread):
    """Asks `times`: every tenth request again at once, every fiftieth with a key used before."""

    def __init__(self, ledger, number, times, start):
        super().__init__()
        self.ledger, self.number, self.times, self.begin = ledger, number, times, start
        self.answers, self.exhausted, self.misused, self.error = {}, 0, 0, None

    def run(self):
        self.begin.wait()
        try:
            for n in range(self.times):
                self.once(n)
        except Exception as error:
            self.error = error

    def once(self, n):
        key, person = f"{self.number}-{n}", PEOPLE[(self.number + n) % len(PEOPLE)]
        try:
            self.answers[key] = self.ask(key, person, b"p")
        except BudgetExhausted:
            self.exhausted += 1
            return
        if n % 10 == 0:
            assert self.ask(key, person, b"p") == self.answers[key]
        if n % 50 == 1:
            with pytest.raises(KeyReused):
                self.ask(key, person, b"q")
            self.misused += 1

    def ask(self, key, person, payload):
        charges = [Charge(FILMS, Cost.pure("0.000001")), Charge(person, Cost.pure("0.000001"))]
        request = Request("shop", "x", "list", key, payload)
        return self.ledger.release(request, charges, lambda _: f"{key}".encode()).answer


def crowd(opened, *, spenders, times, cap):
    """Returns after all of it was checked."""
    with opened() as one, opened() as two:
        one.open_budget(FILMS, Cap.pure("1"))
        for person in PEOPLE:
            one.open_budget(person, Cap(Unit.PURE, cap))
        start = threading.Barrier(spenders)
        crowd = [Spender((one, two)[n % 2], n, times, start) for n in range(spenders)]
        for spender in crowd:
            spender.start()
        for spender in crowd:
            spender.join()
    assert [spender.error for spender in crowd if spender.error] == []
    granted = sum(len(spender.answers) for spender in crowd)
    with opened() as ledger:
        spent = [ledger.balance(person).spent for person in PEOPLE]
        assert max(spent) <= cap
        assert sum(spent) == granted == ledger.balance(FILMS).spent == ledger.verify().releases
        assert granted == sum(min(cap, asked) for asked in tries(spenders, times))
        for spender in crowd:
            for key, answer in list(spender.answers.items())[:5]:
                n = int(key.partition("-")[2])
                person = PEOPLE[(spender.number + n) % len(PEOPLE)]
                spender.ledger = ledger
                assert spender.ask(key, person, b"p") == answer


def tries(spenders, times):
    """How often each person's budget is asked for."""
    asked = [0] * len(PEOPLE)
    for number in range(spenders):
        for n in range(times):
            asked[(number + n) % len(PEOPLE)] += 1
    return asked


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request, tmp_path):
    if request.param == "sqlite":
        return lambda: open_ledger(tmp_path / "budgets.db", patience=300)
    address = request.getfixturevalue("postgres").database()
    return lambda: open_ledger(address, second=tmp_path / "head", patience=300)


def test_a_small_crowd(opened):
    """Twenty spenders, ten requests each, every person's cap reached: exact to the step."""
    crowd(opened, spenders=20, times=10, cap=3)


@pytest.mark.long
def test_two_hundred_spenders(opened):
    """Two hundred spenders, five hundred requests each: the same."""
    crowd(opened, spenders=200, times=500, cap=1500)
