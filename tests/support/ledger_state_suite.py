"""What holds for the kept states of every store of a ledger; part of `LedgerConformance`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from tacit.errors import ConfigError
from tacit.ledger import BudgetExhausted, Cap, DrawFailed, KeyReused, Ledger, Request
from tacit.randomness import Source
from tests.support.ledger_requests import ANN, BOB, FILMS, count, never, refused, together


class StatesConformance:
    """What `LedgerConformance` asks of kept states."""

    def fresh(self) -> Ledger:
        """A new and empty ledger, made with `operator=anchor_of(KEY)`."""
        raise NotImplementedError

    def reopened(self) -> Ledger:
        """The same ledger again, as after a restart."""
        raise NotImplementedError

    def beside(self, ledger: Ledger) -> AbstractContextManager[Ledger]:
        """Another opening of the same ledger, where the store has several at a time."""
        return self.reopened()

    @contextmanager
    def opened(self) -> Iterator[Ledger]:
        """A fresh ledger with three budgets of ten steps."""
        with self.fresh() as ledger:
            for holder in (FILMS, ANN, BOB):
                ledger.open_budget(holder, Cap.pure("0.00001"))
            yield ledger

    def test_a_state_is_kept(self) -> None:
        """The next request, a reader and a restart find the state that the last answer left."""
        with self.opened() as ledger:
            assert ledger.state("rounds/a") is None
            assert [count(ledger, key).answer for key in "ab"] == [b"1", b"2"]
            assert ledger.state("rounds/a") == b"2"
            assert ledger.state("rounds/b") is None
        with self.reopened() as ledger:
            assert ledger.state("rounds/a") == b"2"
            assert count(ledger, "c").answer == b"3"
            assert ledger.verify().is_sound

    def test_a_repetition_leaves_the_state(self) -> None:
        """A retry gives the first answer and does not count twice."""
        with self.opened() as ledger:
            assert [count(ledger, key).answer for key in "abba"] == [b"1", b"2", b"2", b"1"]
            assert ledger.state("rounds/a") == b"2"

    def test_a_state_can_be_left_alone(self) -> None:
        """A draw that gives no new state reads the old one and keeps it."""
        with self.opened() as ledger:
            count(ledger, "a")
            request = Request("shop", "x", "list", "k", b"p")
            read = ledger.release(request, [], lambda _, at: (at or b"", None), state="rounds/a")
            assert (read.answer, ledger.state("rounds/a")) == (b"1", b"1")
            assert ledger.verify().is_sound

    def test_a_refused_request_leaves_the_state(self) -> None:
        """What is not paid for changes nothing."""
        with self.opened() as ledger:
            count(ledger, "a", FILMS, steps=10)
            refused(BudgetExhausted, lambda: count(ledger, "b", FILMS))
            refused(KeyReused, lambda: count(ledger, "a", FILMS, steps=10, payload=b"other"))
            assert ledger.state("rounds/a") == b"1"

    def test_a_failed_draw_leaves_the_state(self) -> None:
        """It is paid for, and whatever it wanted to keep is not kept."""
        with self.opened() as ledger:
            count(ledger, "a")
            draws: tuple[Callable[[Source, bytes | None], object], ...] = (
                lambda *_: never(_[0]),
                lambda *_: ("no bytes", b"new"),
                lambda *_: (b"answer", "no bytes"),
                lambda *_: b"answer",
                lambda *_: (b"answer", bytes(64 * 2**20 + 1)),
            )
            for n, draw in enumerate(draws):
                refused(DrawFailed, partial(count, ledger, f"k{n}", FILMS, draw=draw))
            assert ledger.state("rounds/a") == b"1"
            assert ledger.balance(FILMS).spent == len(draws)
            assert ledger.verify().is_sound

    def test_many_callers_change_a_state_one_after_the_other(self) -> None:
        """Twenty threads on two openings: each sees what the entry before it left."""
        with self.opened() as one, self.beside(one) as two:
            found = together(20, lambda n: count((one, two)[n % 2], f"k{n}"))
            in_order = sorted(found, key=lambda release: release.sequence)
            assert [int(release.answer) for release in in_order] == list(range(1, 21))
            assert one.state("rounds/a") == two.state("rounds/a") == b"20"
            assert one.verify().is_sound

    def test_names_of_states(self) -> None:
        """Small letters, digits and three signs; anything else is refused before it is asked."""
        with self.opened() as ledger:
            for name in ("", "A", "a b", "a.b", "é", "a\n", "a" * 129):
                refused(ConfigError, partial(ledger.state, name))
                refused(ConfigError, partial(count, ledger, "k", state=name))
            assert count(ledger, "k", state="a" * 126 + "/_").answer == b"1"
