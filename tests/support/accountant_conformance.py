"""What holds for every accountant. A new one is checked in three lines:

    class TestMine(AccountantConformance):
        def make(self):
            return Mine()

Run by pytest, with hypothesis. One claim per test, stated in its docstring.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import (
    Accountant,
    ComposedEvent,
    DiscreteLaplace,
    Event,
    Exponential,
    Gate,
    Laplace,
    NonPrivate,
    PostProcessing,
    RandomizedResponse,
    TopK,
    Tree,
    compose,
    repeat,
)
from tacit.errors import ConfigError, PrivacyError


@dataclass(frozen=True, slots=True)
class Unheard(Event):
    """An event that no accountant can know."""


class AccountantConformance:
    """Subclass it and write `make`; give more `events` if the accountant takes more.

    examples: how many cases of each law are tried. slack: the relative error of its conversions.
    """

    examples: ClassVar[int] = 40
    slack: ClassVar[float] = 1e-9

    def make(self) -> Accountant:
        """An accountant without events so far."""
        raise NotImplementedError

    def events(self) -> st.SearchStrategy[Event]:
        """Events with a finite price, none of them composed."""
        noise = st.floats(0.5, 50)
        epsilon = st.floats(0.01, 2)
        return st.one_of(
            st.builds(Laplace, noise),
            st.builds(DiscreteLaplace, noise),
            st.builds(RandomizedResponse, st.integers(2, 9), st.floats(0.1, 0.9)),
            st.builds(Exponential, epsilon, st.booleans()),
            st.builds(TopK, st.integers(1, 5), epsilon, st.booleans()),
            st.builds(Tree, st.integers(1, 5), noise),
            st.builds(Gate, epsilon),
            st.just(PostProcessing()),
        )

    def test_nothing_costs_nothing(self) -> None:
        """Before anything is added, epsilon and delta are 0."""
        assert self.make().epsilon() == 0 == self.make().delta(0)

    def test_repeats_equal_a_list(self) -> None:
        """n times an event, by count, by `repeat` or one by one, is the same to the last bit."""

        def law(event: Event, n: int) -> None:
            by_one = self.make()
            for _ in range(n):
                by_one.add(event)
            self._same(by_one, self.make().add(event, n), self.make().add(repeat(event, n)))

        self._law(law, self.events(), st.integers(1, 6))

    def test_twice_costs_more_than_once(self) -> None:
        """A release that costs anything costs more the second time: no count is forgotten."""

        def law(event: Event, n: int) -> None:
            fewer, more = (self.make().add(event, times).delta(0.0) for times in (n, 2 * n))
            assert fewer < more or fewer < 1e-3 or fewer > 0.9, "a repeated release is free"

        self._law(law, self.events(), st.integers(1, 3))

    def test_order_is_irrelevant(self) -> None:
        """A list and any permutation of it cost the same to the last bit."""

        def law(pair: tuple[list[Event], list[Event]]) -> None:
            self._same(*(self._with(events) for events in pair))

        lists = st.lists(self.events(), max_size=5)
        both = lists.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some)))
        self._law(law, both)

    def test_nesting_is_irrelevant(self) -> None:
        """Composed in composed costs what the flat list costs."""

        def law(first: list[Event], second: list[Event], n: int) -> None:
            nested = ComposedEvent(((compose(*first, compose(*second)), n),))
            self._same(self.make().add(nested), self._with([*first, *second] * n))

        lists = st.lists(self.events(), max_size=3)
        self._law(law, lists, lists, st.integers(1, 3))

    def test_adding_never_lowers(self) -> None:
        """One event more never costs less, at any delta and any epsilon."""

        def law(events: list[Event], event: Event, delta: float, epsilon: float) -> None:
            before, after = self._with(events), self._with([*events, event])
            assert self._at_most(before.epsilon(delta), after.epsilon(delta))
            assert self._at_most(before.delta(epsilon), after.delta(epsilon))

        lists = st.lists(self.events(), max_size=4)
        self._law(law, lists, self.events(), _DELTAS, st.floats(0, 5))

    def test_epsilon_never_rises_with_delta(self) -> None:
        """A larger delta never makes epsilon larger, nor a larger epsilon delta."""

        def law(
            events: list[Event], deltas: tuple[float, ...], epsilons: tuple[float, ...]
        ) -> None:
            made = self._with(events)
            assert self._at_most(made.epsilon(max(deltas)), made.epsilon(min(deltas)))
            assert self._at_most(made.delta(max(epsilons)), made.delta(min(epsilons)))

        lists = st.lists(self.events(), max_size=4)
        epsilons = st.floats(0, 5)
        self._law(law, lists, st.tuples(_DELTAS, _DELTAS), st.tuples(epsilons, epsilons))

    def test_epsilon_and_delta_agree(self) -> None:
        """The epsilon found for a delta needs no more than that delta."""

        def law(events: list[Event], delta: float) -> None:
            made = self._with(events)
            assert self._at_most(made.delta(made.epsilon(delta)), delta)

        self._law(law, st.lists(self.events(), max_size=4), _DELTAS)

    def test_unknown_events_leave_no_trace(self) -> None:
        """An event it does not know is refused in words; what came with it is not charged."""

        def law(events: list[Event], extra: Event) -> None:
            made = self._with(events)
            for bad in (Unheard(), compose(extra, Unheard()), repeat(compose(extra, Unheard()), 2)):
                _refuses(PrivacyError, made, bad)
            self._same(made, self._with(events))

        self._law(law, st.lists(self.events(), max_size=3), self.events())

    def test_subclass_of_a_known_event_is_unknown(self) -> None:
        """A new meaning is a new event, whatever it inherits from."""

        class Looser(Laplace):
            pass

        _refuses(PrivacyError, self.make(), Looser(1.0))

    def test_what_is_no_event_is_refused(self) -> None:
        """A number or a string is not charged as anything."""
        for bad in (1.0, "laplace", None):
            _refuses(ConfigError, self.make(), bad)

    def test_counts_are_whole(self) -> None:
        """An event happens at least once, and a whole number of times."""
        for count in (0, -1, 1.5, True):
            _refuses(ConfigError, self.make(), Laplace(1.0), count)

    def test_post_processing_is_free(self) -> None:
        """What is computed from releases costs nothing more."""

        def law(events: list[Event]) -> None:
            self._same(self._with(events), self._with([*events, PostProcessing()]))

        self._law(law, st.lists(self.events(), max_size=4))

    def test_non_private_is_infinite(self) -> None:
        """One release without protection, and no epsilon is left at any delta below 1."""

        def law(events: list[Event], delta: float) -> None:
            made = self._with([*events, NonPrivate()])
            assert made.epsilon(delta) == math.inf, "a release without noise has an epsilon"
            assert made.delta(9.0) == 1.0, "a release without noise has a delta below 1"

        self._law(law, st.lists(self.events(), max_size=3), _DELTAS)

    def test_copies_go_their_own_way(self) -> None:
        """Adding to a copy leaves the original as it was."""
        made = self.make().add(PostProcessing())
        made.copy().add(NonPrivate())
        self._same(made, self.make().add(PostProcessing()))

    def test_delta_is_a_chance(self) -> None:
        """A delta outside 0 to 1 and an epsilon below 0 are refused, and what is no number."""
        for ask in (self.make().epsilon, self.make().delta):
            for value in (-0.1, math.nan):
                _raises(ConfigError, ask, value)
        _raises(ConfigError, self.make().epsilon, 1.1)

    def _with(self, events: list[Event]) -> Accountant:
        made = self.make()
        for event in events:
            made.add(event)
        return made

    def _same(self, *made: Accountant) -> None:
        found = {(one.epsilon(), one.epsilon(1e-3), one.delta(0.5)) for one in made}
        assert len(found) == 1, f"one list of events has different prices: {found}"

    def _at_most(self, small: float, large: float) -> bool:
        return small <= large or math.isclose(small, large, rel_tol=self.slack, abs_tol=1e-12)

    def _law(self, law: Callable[..., None], *strategies: st.SearchStrategy[Any]) -> None:
        settings(max_examples=self.examples, deadline=None)(given(*strategies)(law))()


_DELTAS = st.sampled_from((0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.6))


def _refuses(error: type[Exception], made: Accountant, event: Any, count: Any = 1) -> None:
    _raises(error, made.add, event, count)


def _raises(error: type[Exception], call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except error as raised:
        if not str(raised):
            raise AssertionError(f"the {error.__name__} says nothing") from None
    else:
        raise AssertionError(f"{error.__name__} was expected and nothing was raised")
