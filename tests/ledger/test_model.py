"""Whatever is asked in whatever order, the ledger does what a dictionary would."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tacit.ledger import (
    BudgetExhausted,
    Cap,
    CapChanged,
    Charge,
    Cost,
    DrawFailed,
    Holder,
    KeyReused,
    Request,
    Unit,
    UnitsDiffer,
    UnknownBudget,
    epoch_token,
    open_ledger,
)
from tests.support.ledger_checkpoints import checkpoints_every
from tests.support.ledger_requests import ANCHOR, KEY

HOLDERS = [Holder.dataset("shop", "films"), *(Holder.subject("shop", n) for n in "abc")]
UNITS = st.sampled_from([Unit.PURE, Unit.ZCDP])
MEMORY = Path("/dev/shm")  # a file system in memory where there is one: nothing here is about disks


class Model:
    """The rules in ten lines each, without a database."""

    def __init__(self):
        self.caps, self.spent, self.epoch_spent, self.answers, self.epoch = {}, {}, {}, {}, 0

    def open(self, holder, cap):
        if self.caps.setdefault(holder, cap) != cap:
            return CapChanged
        self.spent.setdefault(holder, 0)
        return None

    def release(self, key, payload, charges, answer):
        if key in self.answers:
            known, stored = self.answers[key]
            return stored if known == payload else KeyReused
        for holder, unit, amount in sorted(
            charges, key=lambda c: (c[0].kind == "dataset", c[0].name)
        ):
            if holder not in self.caps:
                return UnknownBudget
            cap = self.caps[holder]
            if cap.unit != unit:
                return UnitsDiffer
            now = self.epoch_spent.get((holder, self.epoch), 0)
            if self.spent[holder] + amount > cap.amount:
                return BudgetExhausted
            if cap.per_epoch is not None and now + amount > cap.per_epoch:
                return BudgetExhausted
        for holder, _, amount in charges:
            self.spent[holder] += amount
            at = (holder, self.epoch)
            self.epoch_spent[at] = self.epoch_spent.get(at, 0) + amount
        self.answers[key] = (payload, answer if answer is not None else DrawFailed)
        return self.answers[key][1]


class Comparison(RuleBasedStateMachine):
    """Each rule is done to both, and both have to say the same."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.model = Model()
        self.drawn = 0
        self.start()

    def start(self):
        self.ledger = open_ledger(self.folder / "budgets.db", operator=ANCHOR)

    @rule(
        holder=st.sampled_from(HOLDERS),
        unit=UNITS,
        amount=st.integers(1, 12),
        per_epoch=st.none() | st.integers(1, 6),
    )
    def open_budget(self, holder, unit, amount, per_epoch):
        cap = Cap(unit, amount, per_epoch=per_epoch)
        self.same(self.model.open(holder, cap), lambda: self.ledger.open_budget(holder, cap))

    @rule(
        key=st.sampled_from("klmnopqr"),
        payload=st.sampled_from([b"p", b"p", b"p", b"q"]),
        charges=st.lists(
            st.tuples(st.sampled_from(HOLDERS), UNITS, st.integers(1, 4)),
            min_size=1,
            max_size=3,
            unique_by=lambda charge: charge[0],
        ),
        fails=st.sampled_from([False, False, False, True]),
    )
    def release(self, key, payload, charges, fails):
        self.drawn += 1
        answer = None if fails else b"answer %d" % self.drawn

        def draw(source):
            if answer is None:
                raise RuntimeError
            return answer

        request = Request("shop", "x", "list", key, payload)
        asked = [Charge(holder, Cost(unit, amount)) for holder, unit, amount in charges]
        self.same(
            self.model.release(key, payload, charges, answer),
            lambda: self.ledger.release(request, asked, draw).answer,
        )

    @rule()
    def advance_epoch(self):
        self.model.epoch += 1
        assert self.ledger.advance_epoch(epoch_token(KEY, self.model.epoch)) == self.model.epoch

    @rule()
    def restart(self):
        self.ledger.close()
        self.start()

    @invariant()
    def agrees(self):
        found = {balance.holder: balance for balance in self.ledger.balances()}
        assert {holder: balance.spent for holder, balance in found.items()} == self.model.spent
        for holder, balance in found.items():
            assert balance.spent <= balance.cap.amount
            now = self.model.epoch_spent.get((holder, self.model.epoch), 0)
            assert balance.epoch_spent == now

    def same(self, expected, call):
        """`expected` is what comes back, or the class of what is raised."""
        try:
            found = call()
        except Exception as error:
            found = type(error)
        assert found == expected

    def teardown(self):
        if hasattr(self, "ledger"):
            assert self.ledger.verify().is_sound
            self.ledger.close()
            shutil.rmtree(self.folder)


class WithCheckpoints(Comparison):
    """The same, where every restart begins with a checkpoint of whatever came before."""

    @initialize()
    def begin(self):
        self.often = ExitStack()
        self.often.enter_context(checkpoints_every(2))
        super().begin()

    def teardown(self):
        super().teardown()
        self.often.close()


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
TestWithCheckpoints = WithCheckpoints.TestCase
TestWithCheckpoints.settings = TestComparison.settings
