"""What holds for every mechanism. A new one is checked in a few lines:

    class TestMine(MechanismConformance):
        datasets = ([0.0] * 50, [1.0] * 50)

        def make(self, epsilon=1.0):
            return Mine(epsilon=epsilon)

Run by pytest, which this file does not import. One claim per test, stated in its docstring.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import multiprocessing
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tacit.accounting import Accountant, Event, NonPrivate, PureAccountant, ZCDPAccountant
from tacit.errors import DataError, PrivacyError
from tacit.randomness import replay, secure, simulation
from tests.support.seen import require_any


class MechanismConformance:
    """Subclass it, write `make`, and name two data sets.

    datasets: two arguments of the mechanism, array-like, of equal shape, for which two releases
    coincide with a chance below 1e-6.
    """

    datasets: ClassVar[tuple[Any, Any]]

    def make(self, epsilon: float = 1.0) -> Any:
        """The mechanism; with epsilon = inf its non-private variant."""
        raise NotImplementedError

    def exact(self, argument: Any) -> Any:
        """What the non-private variant has to give."""
        return argument

    def release(self, mechanism: Any, argument: Any, source: Any = None) -> Any:
        """One release; a mechanism with its own sampler takes its source as an argument."""
        if self._draws_itself():
            return mechanism(argument, source or secure())
        return mechanism(argument)

    def test_parameters_are_frozen(self) -> None:
        """The fields are public parameters of a frozen dataclass."""
        mechanism = self.make()
        assert dataclasses.is_dataclass(mechanism), "a mechanism is a dataclass"
        try:
            setattr(mechanism, dataclasses.fields(mechanism)[0].name, None)
        except dataclasses.FrozenInstanceError:
            return
        raise AssertionError("a parameter can be changed after construction")

    def test_nan_and_infinity_are_refused(self) -> None:
        """NaN and both infinities are refused, never clamped into a bound."""
        for odd in (math.nan, math.inf, -math.inf):
            broken = np.array(self.datasets[0], dtype=np.float64)
            broken.flat[0] = odd
            for mechanism in (self.make(), self.make(math.inf)):
                assert self.refusal(mechanism, broken), f"{odd} passed"

    def test_refusal_says_nothing_about_the_data(self) -> None:
        """The words of a refusal are the same for any data."""
        said = set()
        for data in require_any(self.datasets):
            broken = np.array(data, dtype=np.float64)
            broken.flat[-1] = math.nan
            said.add(self.refusal(self.make(), broken))
        assert len(said) == 1, "the error text depends on the data"

    def test_nothing_is_taken_from_the_data(self) -> None:
        """Releases of different data leave parameters and event as they were."""
        mechanism = self.make()
        for data in require_any(self.datasets):
            self.release(mechanism, np.array(data))
            assert mechanism == self.make(), "a parameter depends on the data"
            assert mechanism.event == self.make().event, "the event depends on the data"

    def test_argument_is_left_alone(self) -> None:
        """The caller's array is not written to."""
        data = np.array(self.datasets[0])
        before = data.copy()
        for mechanism in (self.make(), self.make(math.inf)):
            self.release(mechanism, data)
            assert np.array_equal(data, before), "the argument was changed"

    def test_event_can_be_charged(self) -> None:
        """An accountant knows the event and gives it a finite price."""
        event = self.make().event
        assert isinstance(event, Event), "event is a tacit.accounting event"
        prices = [_price(accountant, event) for accountant in (ZCDPAccountant, PureAccountant)]
        assert math.isfinite(min(prices)), "the event has no finite price"

    def test_non_private_variant_costs_infinity(self) -> None:
        """Without noise the event says so."""
        assert self.make(math.inf).event == NonPrivate(), "the event does not say it is non-private"

    def test_non_private_variant_is_exact(self) -> None:
        """epsilon = inf gives the exact value."""
        for data in require_any(self.datasets):
            np.testing.assert_array_equal(
                self.release(self.make(math.inf), np.array(data)), self.exact(np.array(data))
            )

    def test_calls_differ(self) -> None:
        """Every call draws afresh, also on the same data."""
        mechanism = self.make()
        first, second = (self._text(mechanism) for _ in range(2))
        assert first != second, "two calls gave the same release"

    def test_replay_repeats(self) -> None:
        """In a simulation a seed names the release; another seed gives another one."""
        if not self._draws_itself():
            return
        mechanism = self.make()
        with simulation():
            first, again, other = (self._text(mechanism, replay(seed)) for seed in (1, 1, 2))
        assert first == again, "the same seed gave two releases"
        assert first != other, "two seeds gave the same release"

    def test_child_process_draws_afresh(self) -> None:
        """Parent and child of a fork make different releases."""
        mechanism = self.make()
        self._text(mechanism)  # whatever is kept between calls exists before the fork
        children = [_in_child(lambda: self._text(mechanism)) for _ in range(2)]
        drawn = {self._text(mechanism), *children}
        assert len(drawn) == 3, "a child process repeated a release"

    def refusal(self, mechanism: Any, argument: Any) -> str:
        """What the refusal says; empty if there was none."""
        try:
            self.release(mechanism, argument)
        except DataError as error:
            return str(error)
        return ""

    def _draws_itself(self) -> bool:
        return "source" in inspect.signature(self.make()).parameters

    def _text(self, mechanism: Any, source: Any = None) -> str:
        made = self.release(mechanism, np.array(self.datasets[0]), source)
        return json.dumps(np.asarray(made).tolist())


def _price(accountant: type[Accountant], event: Event) -> float:
    """Epsilon at delta 1/2; infinite if the accountant does not know the event."""
    try:
        return accountant().add(event).epsilon(0.5)
    except PrivacyError:
        return math.inf


def _in_child(make: Callable[[], str]) -> str:
    """What `make` gives in a forked child."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(make()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child only draws
        child.start()
    theirs.close()
    text: str = ours.recv()
    child.join()
    return text
