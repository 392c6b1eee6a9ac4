"""What holds for every store of a ledger. One claim per test, stated in its docstring."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from tacit.errors import ConfigError, PrivacyError
from tacit.ledger import (
    BudgetExhausted,
    Cap,
    CapChanged,
    Charge,
    Cost,
    DrawFailed,
    Holder,
    KeyReused,
    Ledger,
    Release,
    Request,
    Unit,
    UnitsDiffer,
    UnknownBudget,
    epoch_token,
    operator_anchor,
)
from tacit.randomness import Source, simulation
from tests.support.ledger_requests import (
    ANN,
    BOB,
    CLOCK_STEPS,
    FILMS,
    KEY,
    ask,
    fork,
    never,
    noise,
    one,
    pay,
    refused,
    stepping_clock,
    together,
)
from tests.support.ledger_state_suite import StatesConformance

CARL = Holder.subject("shop", "carl")


class LedgerConformance(StatesConformance):
    """Subclass it and write `fresh` and `reopened`; each test gets a store of its own."""

    def test_a_charge_is_exact(self) -> None:
        """What was charged is what the budget says, to the last step."""
        with self.opened() as ledger:
            ask(ledger, "a", FILMS, steps=3)
            ask(ledger, "b", FILMS, steps=4)
            assert ledger.balance(FILMS).spent == 7

    def test_a_cost_between_steps_is_the_upper_one(self) -> None:
        """Five costs of a step and a half fill a cap of ten; the next one is refused."""
        with self.opened() as ledger:
            between = Cost.pure(Fraction(3, 2 * 10**6))
            for n in range(5):
                pay(ledger, f"{n}", between)
            assert ledger.balance(FILMS).spent == 10
            refused(BudgetExhausted, lambda: pay(ledger, "more", between))

    def test_a_cap_between_steps_is_the_lower_one(self) -> None:
        """A cap of three steps and a half is spent by three."""
        with self.opened() as ledger:
            ledger.open_budget(CARL, Cap.pure(Fraction(7, 2 * 10**6)))
            ask(ledger, "all", CARL, steps=3)
            refused(BudgetExhausted, lambda: ask(ledger, "more", CARL))

    def test_a_clock_that_jumps_grants_nothing(self) -> None:
        """Forward, back, by years and over 32 bits: caps, epochs and stored answers stay."""
        with self.opened() as ledger:
            ledger.open_budget(CARL, Cap.pure("0.000005", per_epoch="0.000002"))
            with stepping_clock() as step:
                first = ask(ledger, "a", CARL)
                for seconds in CLOCK_STEPS:
                    step(seconds)
                    assert ask(ledger, "a", CARL).answer == first.answer
                    assert ledger.epoch == 0
                    assert ledger.balance(CARL).epoch_spent == 1
                ask(ledger, "b", CARL)
                for seconds in CLOCK_STEPS:
                    step(seconds)
                    refused(BudgetExhausted, lambda: ask(ledger, "more", CARL, draw=never))
            assert ledger.verify().is_sound

    def test_the_cap_is_reached_and_not_passed(self) -> None:
        """A budget can be spent to its last step; the next step is refused and draws nothing."""
        with self.opened() as ledger:
            ask(ledger, "all", FILMS, steps=10)
            refused(BudgetExhausted, lambda: ask(ledger, "more", FILMS, draw=never))
            assert ledger.balance(FILMS).spent == 10

    def test_a_repetition_gives_the_same_bytes(self) -> None:
        """The same key and payload give the same answer, draw nothing and charge nothing."""
        with self.opened() as ledger:
            first = ask(ledger, "a", FILMS, steps=10)
            again = ask(ledger, "a", FILMS, steps=10, draw=never)
            assert again == Release(first.answer, repeated=True, sequence=first.sequence)
            assert ledger.balance(FILMS).spent == 10

    def test_a_repetition_survives_a_restart(self) -> None:
        """An answer that was given can be had again after the process is gone."""
        with self.opened() as ledger:
            first = ask(ledger, "a", FILMS)
        with self.reopened() as ledger:
            assert ask(ledger, "a", FILMS, draw=never).answer == first.answer
            assert ledger.balance(FILMS).spent == 1

    def test_a_key_with_another_payload_is_refused(self) -> None:
        """A key that was used for something else buys nothing."""
        with self.opened() as ledger:
            ask(ledger, "a", FILMS)
            refused(KeyReused, lambda: ask(ledger, "a", FILMS, payload=b"other", draw=never))
            assert ledger.balance(FILMS).spent == 1

    def test_a_charge_opens_a_budget(self) -> None:
        """A charge that brings a cap opens a missing budget, once; an open one keeps its cap."""
        with self.opened() as ledger:
            carl, cap = Holder.subject("shop", "carl"), Cap.pure("0.000005")
            for key, steps in (("a", 2), ("b", 3)):
                charge = Charge(carl, Cost.pure(f"0.00000{steps}"), opens=cap)
                ledger.release(Request("shop", "carl", "list", key, b"p"), [charge], noise)
            larger = Charge(carl, Cost.pure("0.000001"), opens=Cap.pure("9"))
            request = Request("shop", "carl", "list", "c", b"p")
            refused(BudgetExhausted, lambda: ledger.release(request, [larger], never))
            assert (ledger.balance(carl).spent, ledger.balance(carl).cap) == (5, cap)
        with self.reopened() as ledger:
            assert ledger.verify().is_sound

    def test_keys_are_scoped(self) -> None:
        """The same key of another tenant, subject or operation is another request."""
        with self.opened() as ledger:
            other = Holder.dataset("bank", "films")
            ledger.open_budget(other, Cap.pure("0.00001"))
            answers = {
                ledger.release(Request(tenant, subject, work, "k", b"p"), [one(to)], noise).answer
                for tenant, subject, work, to in (
                    ("shop", "x", "list", FILMS),
                    ("shop", "y", "list", FILMS),
                    ("shop", "x", "count", FILMS),
                    ("bank", "x", "list", other),
                )
            }
            assert len(answers) == 4
            assert (ledger.balance(FILMS).spent, ledger.balance(other).spent) == (3, 1)

    def test_all_or_nothing(self) -> None:
        """If one of several budgets is exhausted, none is charged, whatever their order."""
        with self.opened() as ledger:
            ask(ledger, "a", ANN, steps=10)
            for n, order in enumerate(((ANN, BOB, FILMS), (FILMS, BOB, ANN))):
                charges = [one(holder) for holder in order]
                request = Request("shop", "x", "list", f"k{n}", b"p")
                refused(BudgetExhausted, partial(ledger.release, request, charges, never))
            assert (ledger.balance(BOB).spent, ledger.balance(FILMS).spent) == (0, 0)

    def test_a_refused_key_is_free(self) -> None:
        """A refusal stores nothing: the key can still buy what the budget covers."""
        with self.opened() as ledger:
            refused(BudgetExhausted, lambda: ask(ledger, "a", FILMS, steps=11, draw=never))
            assert not ask(ledger, "a", FILMS, steps=10).repeated

    def test_units_never_mix(self) -> None:
        """A cost in another unit than the budget's is refused."""
        with self.opened() as ledger:
            for cost in (Cost.zcdp("0.000001"), Cost.approximate("0.000001", 0)):
                request = Request("shop", "x", "list", "k", b"p")
                charge = Charge(FILMS, cost)
                refused(UnitsDiffer, partial(ledger.release, request, [charge], never))
            assert ledger.balance(FILMS).spent == 0

    def test_delta_has_its_own_cap(self) -> None:
        """In the approximate unit epsilon and delta are both bounded."""
        with self.opened() as ledger:
            holder = Holder.dataset("shop", "visits")
            ledger.open_budget(holder, Cap.approximate("1", "1e-9"))

            def spend(key: str, delta: str) -> Release:
                charge = Charge(holder, Cost.approximate("0.1", delta))
                return ledger.release(Request("shop", "x", "list", key, b"p"), [charge], noise)

            spend("a", "6e-10")
            refused(BudgetExhausted, lambda: spend("b", "6e-10"))
            spend("c", "4e-10")
            balance = ledger.balance(holder)
            assert (balance.spent, balance.delta_spent) == (200_000, 10**9)

    def test_steps_count_beside_the_largest_amount(self) -> None:
        """No step is lost in a large number: beside 10**18 a millionth still counts."""
        with self.opened() as ledger:
            holder = Holder.dataset("shop", "large")
            ledger.open_budget(holder, Cap(Unit.PURE, 10**18))

            def spend(key: str, steps: int) -> Release:
                charge = Charge(holder, Cost(Unit.PURE, steps))
                return ledger.release(Request("shop", "x", "list", key, b"p"), [charge], noise)

            spend("a", 10**18 - 3)
            for key in "bcd":
                spend(key, 1)
            assert ledger.balance(holder).spent == 10**18
            refused(BudgetExhausted, lambda: spend("e", 1))

    def test_an_unknown_budget_is_refused(self) -> None:
        """Nobody spends from a budget that was not opened."""
        with self.opened() as ledger:
            nobody = Holder.subject("shop", "nobody")
            refused(UnknownBudget, lambda: ask(ledger, "a", nobody, draw=never))
            refused(UnknownBudget, lambda: ledger.balance(nobody))

    def test_a_cap_is_for_life(self) -> None:
        """Opening a budget again changes nothing, and another cap is refused."""
        with self.opened() as ledger:
            ask(ledger, "a", FILMS)
            ledger.open_budget(FILMS, Cap.pure("0.00001"))
            assert ledger.balance(FILMS).spent == 1
            refused(CapChanged, lambda: ledger.open_budget(FILMS, Cap.pure("0.00002")))
            assert ledger.balance(FILMS).cap == Cap.pure("0.00001")

    def test_a_failed_draw_is_paid_for(self) -> None:
        """What fails may depend on the data: the charge stands, and so does the failure."""
        with self.opened() as ledger:
            draws: dict[str, Callable[[Source], object]] = {"a": never, "b": lambda _: "no bytes"}
            for key, draw in [*draws.items(), *draws.items()]:
                refused(DrawFailed, partial(ask, ledger, key, FILMS, draw=draw))
            assert ledger.balance(FILMS).spent == 2
            assert ledger.verify().is_sound

    def test_refusals_tell_no_names_and_no_amounts(self) -> None:
        """No refusal holds an id or a number, so none tells what is left."""
        with self.opened() as ledger:
            said = [
                refused(BudgetExhausted, lambda: ask(ledger, "a", ANN, steps=11)),
                refused(UnknownBudget, lambda: ask(ledger, "a", Holder.subject("shop", "eve"))),
                refused(DrawFailed, lambda: ask(ledger, "b", ANN, draw=never)),
                refused(KeyReused, lambda: ask(ledger, "b", ANN, payload=b"other")),
                refused(CapChanged, lambda: ledger.open_budget(ANN, Cap.pure("1"))),
            ]
            for sentence in said:
                assert not any(sign.isdigit() for sign in sentence)
                assert not any(name in sentence for name in ("ann", "eve", "shop"))

    def test_epochs_need_the_operator(self) -> None:
        """Only the operator's next token begins an epoch; skipped and old tokens do not."""
        with self.opened() as ledger:
            for wrong in (operator_anchor(KEY), epoch_token(KEY, 2), epoch_token(bytes(32), 1), ""):
                refused(PrivacyError, partial(ledger.advance_epoch, wrong))
            assert ledger.advance_epoch(epoch_token(KEY, 1)) == 1
            refused(PrivacyError, lambda: ledger.advance_epoch(epoch_token(KEY, 1)))
            assert ledger.epoch == 1
        with self.reopened() as ledger:
            assert ledger.advance_epoch(epoch_token(KEY, 2)) == 2

    def test_an_epoch_limits_and_the_lifetime_stays(self) -> None:
        """A new epoch renews the cap per epoch, never the cap for life."""
        with self.opened() as ledger:
            cap = Cap.pure("0.000005", per_epoch="0.000003")
            holder = Holder.subject("shop", "cid")
            ledger.open_budget(holder, cap)
            ask(ledger, "a", holder, steps=3)
            refused(BudgetExhausted, lambda: ask(ledger, "b", holder))
            ledger.advance_epoch(epoch_token(KEY, 1))
            assert ledger.balance(holder).epoch_spent == 0
            refused(BudgetExhausted, lambda: ask(ledger, "b", holder, steps=3))
            ask(ledger, "b", holder, steps=2)
            ledger.advance_epoch(epoch_token(KEY, 2))
            refused(BudgetExhausted, lambda: ask(ledger, "c", holder))
            assert ledger.balance(holder).spent == 5
            assert ledger.verify().is_sound

    def test_a_replayed_source_is_refused(self) -> None:
        """Nothing is released, or charged, where seeded randomness would work."""
        with self.opened() as ledger:
            with simulation():
                refused(PrivacyError, lambda: ask(ledger, "a", FILMS, draw=never))
            assert ledger.balance(FILMS).spent == 0

    def test_a_charge_is_whole(self) -> None:
        """No release with one budget twice, or from another tenant's budget."""
        with self.opened() as ledger:
            request = Request("shop", "x", "list", "k", b"p")
            other = Holder.dataset("bank", "films")
            for charges in ([one(FILMS), one(FILMS)], [one(FILMS), one(other)]):
                refused(ConfigError, partial(ledger.release, request, charges, never))

    def test_what_costs_nothing_happens_once(self) -> None:
        """Without a charge the key still gives the same bytes, and nothing is drawn again."""
        with self.opened() as ledger:
            request = Request("shop", "x", "list", "k", b"p")
            first = ledger.release(request, [], noise)
            assert ledger.release(request, [], never).answer == first.answer
            assert ledger.balance(FILMS).spent == 0
            assert ledger.verify().is_sound

    def test_twins_pay_once(self) -> None:
        """Concurrent requests with the same key get the same bytes for one charge."""
        with self.opened() as ledger:
            answers = together(8, lambda _: ask(ledger, "a", FILMS).answer)
            assert len(set(answers)) == 1
            assert ledger.balance(FILMS).spent == 1

    def test_twins_in_two_connections_pay_once(self) -> None:
        """The same holds for two openings of the same store, as two processes have them."""
        with self.opened() as one, self.beside(one) as two:
            answers = together(8, lambda n: ask((one, two)[n % 2], "a", FILMS).answer)
            assert len(set(answers)) == 1
            assert one.balance(FILMS).spent == two.balance(FILMS).spent == 1

    def test_many_callers_never_pass_the_cap(self) -> None:
        """Twenty asking threads on two openings spend ten steps: all of them, and no more."""

        def try_one(ledger: Ledger, number: int) -> int:
            try:
                ask(ledger, f"k{number}", FILMS)
            except BudgetExhausted:
                return 0
            return 1

        with self.opened() as one, self.beside(one) as two:
            granted = together(20, lambda n: try_one((one, two)[n % 2], n))
            assert sum(granted) == 10
            assert one.balance(FILMS).spent == 10
            assert one.verify().is_sound

    def test_a_fork_is_refused(self) -> None:
        """A forked process can neither spend nor read through its parent's ledger."""
        with self.opened() as ledger:
            child = fork()
            if child == 0:
                code = 1
                try:
                    ask(ledger, "a", FILMS)
                except PrivacyError:
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert ledger.balance(FILMS).spent == 0

    def test_the_log_tells_everything(self) -> None:
        """Replaying the log gives every table."""
        with self.opened() as ledger:
            ask(ledger, "a", FILMS)
            found = ledger.verify()
            assert found.is_sound
            assert (found.entries, found.budgets, found.releases) == (5, 3, 1)
            assert ledger.balances()[0] == ledger.balance(FILMS)
