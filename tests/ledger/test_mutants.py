"""Planted faults: each breaks one rule of the ledger, and the shared suite has to notice."""

from __future__ import annotations

import secrets

import pytest
from sqlalchemy import text, update

from tacit.errors import PrivacyError, TacitError
from tacit.ledger import Ledger, Request, spending, store
from tacit.ledger.schema import budgets
from tacit.ledger.statements import Statement
from tacit.ledger.states import KeptStates
from tacit.testing.ledgers import LedgerConformance


def key_without_payload(patch):
    """A key is enough, whatever is asked with it."""
    patch.setattr(Request, "digest", property(lambda _: "0" * 64))


def key_not_scoped(patch):
    """A key of one tenant is a key of all."""
    scope = spending._scope
    patch.setattr(spending, "_scope", lambda request: {**scope(request), "tenant": "t"})


def key_forgotten(patch):
    """Nothing is found again."""
    scope = spending._scope
    odd = secrets.token_hex
    patch.setattr(spending, "_scope", lambda request: {**scope(request), "request_key": odd(8)})


def payment_without_guard(patch):
    """Spending is added without a look at the cap; only the table's CHECK is left."""
    row = budgets.c
    added = {"spent": row.spent + 1, "epoch_spent": row.epoch_spent + 1}
    paid = update(budgets).values(**added).returning(row.id)
    patch.setattr(spending, "_PAY", Statement(paid))


def partial_payment(patch):
    """What a refused request charged before it was refused stays charged."""
    patch.setattr(spending, "_UNDO", Statement(text("SELECT 1")))


def refund_of_a_failed_draw(patch):
    """A draw that fails costs nothing, so failing becomes a free answer."""

    def drawn(draw, before):
        try:
            return draw(None, before)
        except Exception:
            raise PrivacyError("refunded") from None

    patch.setattr(spending, "_drawn", drawn)


def seeded_answers(patch):
    """Answers may come from a seeded stream."""
    patch.setattr(store, "_refuse_simulation", lambda: None)


def free_repetition(patch):
    """Nothing is charged at all."""
    patch.setattr(
        spending, "_pay", lambda place, charge: Statement(text("SELECT 1")).run(place.connection)
    )
    patch.setattr(spending, "_paid", lambda place, charge, rows: [1, 1, 0])


def anybodys_epoch(patch):
    """Any token begins an epoch."""
    patch.setattr(store, "follows", lambda token, before: True)


def state_of_a_failed_draw(patch):
    """A draw whose answer is no bytes still changes the state."""
    sound = spending._drawn

    def drawn(draw, before):
        wanted = []

        def noted(source, before):
            wanted.append(draw(source, before))
            return wanted[-1]

        answer, after = sound(noted, before)
        return answer, (b"new" if answer is None and wanted else after)

    patch.setattr(spending, "_drawn", drawn)


def state_in_memory(patch):
    """The state lives in the process and reaches no disk."""
    kept = {}
    patch.setattr(KeptStates, "read", lambda _, name: kept.get(name))
    patch.setattr(KeptStates, "change", lambda _, name, state, number: kept.update({name: state}))
    patch.setattr(Ledger, "state", lambda _, name: kept.get(name))


FAULTS = {
    key_without_payload: "test_a_key_with_another_payload_is_refused",
    key_not_scoped: "test_keys_are_scoped",
    key_forgotten: "test_a_repetition_gives_the_same_bytes",
    payment_without_guard: "test_the_cap_is_reached_and_not_passed",
    partial_payment: "test_all_or_nothing",
    refund_of_a_failed_draw: "test_a_failed_draw_is_paid_for",
    seeded_answers: "test_a_replayed_source_is_refused",
    free_repetition: "test_a_charge_is_exact",
    anybodys_epoch: "test_epochs_need_the_operator",
    state_of_a_failed_draw: "test_a_failed_draw_leaves_the_state",
    state_in_memory: "test_a_state_is_kept",
}


class Suite(LedgerConformance):
    """The shared suite by hand: its tests are called by name."""

    __test__ = False

    def __init__(self, path, open_at):
        self.path, self.open_at = path, open_at

    def fresh(self):
        return self.open_at(self.path)

    def reopened(self):
        return self.open_at(self.path, create=False)


@pytest.mark.parametrize(("fault", "test"), FAULTS.items(), ids=lambda x: getattr(x, "__name__", x))
def test_a_planted_fault_is_noticed(tmp_path, ledger_at, monkeypatch, fault, test):
    """The suite's test passes without the fault and fails with it."""
    getattr(Suite(tmp_path / "sound.db", ledger_at), test)()
    fault(monkeypatch)
    with pytest.raises((AssertionError, TacitError)):
        getattr(Suite(tmp_path / "faulty.db", ledger_at), test)()
