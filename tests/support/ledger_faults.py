"""Planted faults: each breaks one rule of the ledger, and has to be noticed.

    with planted(key_forgotten): ...

NOTICED says by which test of `LedgerConformance`; CROWDED those that a crowd of spenders has to
notice, LOSING those that lose what was acknowledged when a process or a server is killed. Those of
checkpoints are in `ledger_checkpoints`.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, Connection, Float, cast, select, text, update

from tacit.errors import PrivacyError, TacitError
from tacit.ledger import (
    Balance,
    BudgetExhausted,
    Charge,
    Head,
    Ledger,
    Release,
    Request,
    Verification,
    amounts,
    checkpoints,
    heads,
    log_state,
    opener,
    postgres,
    replay,
    sqlite,
    store,
    transactions,
)
from tacit.ledger.amounts import MICRO, _round_down
from tacit.ledger.log_state import LogState
from tacit.ledger.schema import budgets, head
from tacit.ledger.statements import SentStatement, Statement
from tacit.ledger.states import TransactionStates
from tacit.ledger.transactions import SpendRequest, WriteTransaction

Plant = Callable[[object, str, object], None]
"""Sets an attribute until the fault is dug out."""

Fault = Callable[[Plant], None]


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The ledger of this process with a fault."""
    before: list[tuple[object, str, Any]] = []

    def plant(target: object, name: str, value: object) -> None:
        before.append((target, name, getattr(target, name)))
        setattr(target, name, value)

    try:
        fault(plant)
        yield
    finally:
        for target, name, value in reversed(before):
            setattr(target, name, value)


def key_without_payload(plant: Plant) -> None:
    """A key is enough, whatever is asked with it."""
    plant(Request, "digest", property(lambda _: "0" * 64))


def key_not_scoped(plant: Plant) -> None:
    """A key of one subject is a key of all."""
    scope = transactions._request_columns
    every = {"tenant": "t", "subject": "s", "operation": "o"}
    plant(transactions, "_request_columns", lambda request: {**scope(request), **every})


def key_forgotten(plant: Plant) -> None:
    """Nothing is found again."""
    scope = transactions._request_columns
    plant(
        *(transactions, "_request_columns"),
        lambda request: {**scope(request), "request_key": secrets.token_hex(8)},
    )


def read_then_write(plant: Plant) -> None:
    """Who asks looks at the budget first; what is left of it is written later."""
    release = Ledger.release
    seen: dict[int, Balance] = {}

    def looked(ledger: Ledger, request: Request, charges: Any, *rest: Any, **named: Any) -> Any:
        seen.update({id(charge): ledger.balance(charge.holder) for charge in charges})
        time.sleep(0.001)  # others come in between
        return release(ledger, request, charges, *rest, **named)

    def paid(place: WriteTransaction, charge: Charge, _: object) -> list[int]:
        balance = seen[id(charge)]
        after = balance.spent + charge.cost.amount
        if after > balance.cap.amount:
            raise BudgetExhausted
        written.run(place.connection, {"number": balance.number, "after": after})
        return [balance.number, charge.cost.amount, 0]

    after, row = text(":after"), text("id = :number")
    written = Statement(update(budgets).values(spent=after, epoch_spent=after).where(row))
    plant(transactions, "_pay", _nothing_yet)
    plant(transactions, "_check_payment", paid)
    plant(Ledger, "release", looked)


def sum_under_repeatable_read(plant: Plant) -> None:
    """Every writer sums what it sees in its own moment, and nobody waits for anybody."""
    row, amount = budgets.c, text(":amount")
    added = {"spent": row.spent + amount, "epoch_spent": row.epoch_spent + amount}
    covered = text(_SUM)
    whose = (*transactions._equal_parameters(transactions._HOLDER), transactions._CLAIMED)
    paid = update(budgets).values(**added).where(*whose, covered)
    plant(transactions, "_PAY", Statement(paid.returning(row.id)))
    columns = (head.c.ledger, head.c.operator, head.c.epoch, head.c.sequence, head.c.hash)
    plant(transactions, "_LOCK_HEAD", Statement(select(*columns)))
    alone = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    plant(postgres, "_set_isolation", lambda connection: connection.exec_driver_sql(alone))


_SUM = """:amount <= ledger_budgets.cap - (
    SELECT coalesce(sum(CAST(paid->>1 AS BIGINT)), 0)
    FROM ledger_log, jsonb_array_elements(CAST(body AS JSONB)->'charges') AS paid
    WHERE ledger_log.kind = 'release' AND CAST(paid->>0 AS BIGINT) = ledger_budgets.id)"""


def payment_without_guard(plant: Plant) -> None:
    """Spending is added without a look at the cap; only the table's CHECK is left."""
    row, amount = budgets.c, text(":amount")
    added = {"spent": row.spent + amount, "epoch_spent": row.epoch_spent + amount}
    whose = (*transactions._equal_parameters(transactions._HOLDER), transactions._CLAIMED)
    paid = update(budgets).values(**added).where(*whose)
    plant(transactions, "_PAY", Statement(paid.returning(row.id)))


def float_amounts(plant: Plant) -> None:
    """Amounts are added as floating-point numbers."""
    payment = transactions._payment_statement()
    row = budgets.c
    added = cast(cast(row.spent, Float) + text(":amount"), BigInteger)
    plant(transactions, "_PAY", Statement(payment.values(spent=added)))


def partial_payment(plant: Plant) -> None:
    """What a refused request charged before it was refused stays charged."""
    plant(transactions, "_UNDO", Statement(text("SELECT 1")))


def refund_of_a_failed_draw(plant: Plant) -> None:
    """A draw that fails costs nothing, so failing becomes a free answer."""

    def drawn(draw: Any, before: bytes | None) -> Any:
        try:
            return draw(None, before)
        except Exception:
            raise PrivacyError("refunded") from None

    plant(transactions, "_draw_answer", drawn)


def seeded_answers(plant: Plant) -> None:
    """Answers may come from a seeded stream."""
    plant(store, "_refuse_simulation", lambda: None)


def free_release(plant: Plant) -> None:
    """Nothing is charged at all."""
    plant(transactions, "_pay", _nothing_yet)
    plant(transactions, "_check_payment", lambda *_: [1, 1, 0])


def _nothing_yet(place: WriteTransaction, *_: object) -> SentStatement:
    return Statement(text("SELECT 1")).run(place.connection)


def anybodys_epoch(plant: Plant) -> None:
    """Any token begins an epoch."""
    plant(store, "is_next_token", lambda *_: True)


def state_of_a_failed_draw(plant: Plant) -> None:
    """A draw whose answer is no bytes still changes the state."""
    sound = transactions._draw_answer

    def drawn(draw: Any, before: bytes | None) -> Any:
        wanted: list[Any] = []

        def noted(source: Any, before: bytes | None) -> Any:
            wanted.append(draw(source, before))
            return wanted[-1]

        answer, after = sound(noted, before)
        return answer, (b"new" if answer is None and wanted else after)

    plant(transactions, "_draw_answer", drawn)


def state_in_memory(plant: Plant) -> None:
    """The state lives in the process and reaches no disk."""
    kept: dict[str, bytes] = {}
    plant(TransactionStates, "read", lambda _, name: kept.get(name))
    plant(TransactionStates, "change", lambda _, name, state, *__: kept.update({name: state}))
    plant(Ledger, "state", lambda _, name: kept.get(name))


def acknowledged_before_commit(plant: Plant) -> None:
    """Callers get their answers while the transaction is still on its way to the disk.

    For a process that is killed: it leaves a thread behind.
    """
    serve = Ledger.release_all
    settle = transactions.settle
    busy = threading.Lock()

    def settled(place: WriteTransaction, work: SpendRequest) -> Release | TacitError:
        outcome = settle(place, work)
        early.append(outcome)
        if len(early) == wanted[0]:
            ready.set()
            threading.Event().wait()  # until it is killed: no commit comes after the answer
        return outcome

    early: list[Release | TacitError] = []
    wanted: list[int] = [0]
    ready = threading.Event()

    def served(ledger: Ledger, works: Sequence[SpendRequest]) -> list[Release | TacitError]:
        busy.acquire()
        early.clear()
        ready.clear()
        wanted[0] = len(works)

        def later() -> None:
            try:
                serve(ledger, works)
            finally:
                busy.release()

        threading.Thread(target=later, daemon=True).start()
        ready.wait(5)
        return list(early)

    plant(transactions, "settle", settled)
    plant(Ledger, "release_all", served)


def costs_rounded_down(plant: Plant) -> None:
    """A cost between two steps is the lower one, so small costs are never paid in full."""
    plant(amounts, "_round_up", lambda number, steps=MICRO: max(1, _round_down(number, steps)))


def caps_rounded_up(plant: Plant) -> None:
    """A cap between two steps is the upper one."""
    plant(amounts, "_round_down", amounts._round_up)


def log_not_synced(plant: Plant) -> None:
    """SQLite's log is written and not synced at each commit: a power cut loses answers."""
    plant(sqlite, "OWNER_SETTINGS", {**sqlite.OWNER_SETTINGS, "synchronous": 1})


def epoch_by_the_clock(plant: Plant) -> None:
    """A new week by the clock of the machine renews the caps per epoch."""
    release = Ledger.release
    week = 7 * 24 * 3600
    seen = [time.time() // week]

    def released(ledger: Ledger, *given: Any, **named: Any) -> Release:
        now = time.time() // week
        if now != seen[0]:
            seen[0] = now
            with planted(anybodys_epoch):
                ledger.advance_epoch("")
        return release(ledger, *given, **named)

    plant(Ledger, "release", released)


def synchronous_commit_off(plant: Plant) -> None:
    """PostgreSQL acknowledges what it has not written, and the start does not look.

    Give the server wal_writer_delay=10s, as a busy disk would.
    """
    settle = postgres._check_settings

    def settled(patience: float, raw: Any, record: object) -> None:
        settle(patience, raw, record)
        raw.execute("SET synchronous_commit = off")
        raw.commit()

    plant(postgres, "_check_settings", settled)


def checkpoint_without_the_chain(plant: Plant) -> None:
    """A checkpoint is believed as it stands in its table."""
    plant(checkpoints, "is_in_log", lambda *_: True)
    plant(log_state, "_STEPS", {**log_state._STEPS, log_state.CHECKPOINT: lambda *_: ""})


def checkpoint_without_the_second_place(plant: Plant) -> None:
    """The chain after a checkpoint need not pass the head that the second place remembers."""
    for place in (opener, heads):
        plant(place, "check_remembered_head", lambda *_: None)
    newest = checkpoints.newest_checkpoint

    def anywhere(connection: Connection, known: Head) -> LogState | None:
        told = newest(connection, known)
        if told is not None:
            told.head_to_match = None
        return told

    plant(opener, "newest_checkpoint", anywhere)


def checkpoint_beyond_the_second_place(plant: Plant) -> None:
    """A checkpoint counts although the second place does not know of its entry."""
    newest = checkpoints.newest_checkpoint
    plant(
        *(opener, "newest_checkpoint"),
        lambda connection, known: newest(connection, replace(known, sequence=2**62)),
    )


def budget_rows_unseen(plant: Plant) -> None:
    """A start does not look at the rows of budgets."""
    plant(replay, "_compare_budgets", lambda *_: None)


def states_unseen(plant: Plant) -> None:
    """A start does not look at the kept states."""
    plant(replay, "_compare_states", lambda *_: None)


def verify_from_a_checkpoint(plant: Plant) -> None:
    """`verify` spares itself what is before a checkpoint, as a start does."""

    def replayed(ledger: Ledger) -> Verification:
        with ledger.read_transaction() as connection:
            told = checkpoints.newest_checkpoint(connection, ledger.head)
        return replay.replay(ledger.read_transaction, told or LogState())

    plant(Ledger, "verify", replayed)


def checkpoint_of_what_is_not_sound(plant: Plant) -> None:
    """Whatever a replay finds, its end is a checkpoint."""
    plant(checkpoints, "_is_sound", lambda _: True)


NOTICED: dict[Fault, str] = {
    key_without_payload: "test_a_key_with_another_payload_is_refused",
    key_not_scoped: "test_keys_are_scoped",
    key_forgotten: "test_a_repetition_gives_the_same_bytes",
    payment_without_guard: "test_the_cap_is_reached_and_not_passed",
    float_amounts: "test_steps_count_beside_the_largest_amount",
    partial_payment: "test_all_or_nothing",
    refund_of_a_failed_draw: "test_a_failed_draw_is_paid_for",
    seeded_answers: "test_a_replayed_source_is_refused",
    free_release: "test_a_charge_is_exact",
    costs_rounded_down: "test_a_cost_between_steps_is_the_upper_one",
    caps_rounded_up: "test_a_cap_between_steps_is_the_lower_one",
    epoch_by_the_clock: "test_a_clock_that_jumps_grants_nothing",
    anybodys_epoch: "test_epochs_need_the_operator",
    state_of_a_failed_draw: "test_a_failed_draw_leaves_the_state",
    state_in_memory: "test_a_state_is_kept",
}
"""Which test of `LedgerConformance` notices it."""

CROWDED: tuple[Fault, ...] = (
    *(read_then_write, key_without_payload, key_not_scoped, key_forgotten),
    *(payment_without_guard, partial_payment),
)
"""On any store; `sum_under_repeatable_read` on PostgreSQL."""

LOSING: tuple[Fault, ...] = (acknowledged_before_commit, synchronous_commit_off)
