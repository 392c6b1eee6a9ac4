"""A visitor's context as other vendors may see it, randomised once, and how they serve it.

Source      Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
            context's cell.
Guarantee   epsilon for one randomisation, towards all neighbours together, also if they collude:
            every neighbour and every retry gets the same bytes. Any two contexts are neighbours.
Not         that a request was made, when, and to whom. A policy that forwards because of where the
            context lies tells the true cell by it, unless the `Vendor` asks all at every visit.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event, PureAccountant
from tacit.designs.pdap import messages
from tacit.designs.pdap.messages import MICRO, NO_NOISE, REQUEST_BYTES, Forward
from tacit.designs.pdap.policies.base import Choice, Policy, check_context
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.mechanisms.randomized_response import MOST_CATEGORIES, KaryResponse
from tacit.randomness import Source


@dataclass(frozen=True)
class Agreement:
    """How contexts are sent, as vendors agree on it.

    Attributes:
        features: d, or 0 to send none.
        slices: per feature; with noise, slices^features is at most 2^20.
        epsilon: nats of one context; inf sends the true cell.
    """

    features: int
    slices: int
    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("features", self.features, least=0, most=messages.MOST_FEATURES)
        check_whole("slices", self.slices, least=1, most=messages.MOST_SLICES)
        noisy = not math.isinf(self.epsilon)
        if noisy and self.features * math.log(self.slices) > math.log(MOST_CATEGORIES):
            raise ConfigError(
                f"{self.slices} slices of {self.features} features are more answers than "
                f"{MOST_CATEGORIES}: reduce the contexts first, or cut them less."
            )
        if noisy and self.epsilon * MICRO >= NO_NOISE:
            raise ConfigError("An epsilon above 4294 protects nobody: say inf.")

    @property
    def answers(self) -> int:
        """Cells that a message can name."""
        return int(self.slices**self.features)

    @property
    def tells_cell(self) -> bool:
        """Whether a message says anything about the context."""
        return self.features > 0 and self.slices > 1

    @property
    def micros(self) -> int:
        """Epsilon in millionths of a nat, rounded up, as messages state it; 0 if none is sent."""
        if not self.tells_cell:
            return 0
        return NO_NOISE if math.isinf(self.epsilon) else math.ceil(self.epsilon * MICRO)

    def agrees(self, forward: Forward) -> bool:
        """Whether a message is as was agreed."""
        stated = (len(forward.places), forward.slices, forward.epsilon)
        return stated == (self.features, self.slices, self.micros)


CLEAR = messages.MOST_SLICES
"""Slices of a context in the clear, as the paper forwards it."""


class Forwarder:
    """Randomises the context of each visit once. Limiting a person's visits is the caller's task.

    Attributes:
        agreement: how contexts are sent.
        response: the mechanism; None if either nothing or the true cell is sent.
    """

    def __init__(self, agreement: Agreement, *, randomness: Source) -> None:
        """Prepare the mechanism of an agreement."""
        self.agreement = agreement
        self._source = randomness
        noisy = agreement.tells_cell and not math.isinf(agreement.epsilon)
        # Slightly below the agreed epsilon: rounding must not make a budget of three visits pay
        # for only two.
        spent = agreement.epsilon * (1 - 2**-40)
        self.response = KaryResponse(spent, agreement.answers) if noisy else None
        self._numbers = b""  # random bytes drawn ahead for the numbers of messages
        self._process = os.getpid()

    @property
    def event(self) -> Event | None:
        """Cost of one randomisation; None if nothing is sent, or if nothing protects it."""
        return None if self.response is None else self.response.event

    @property
    def visit_epsilon(self) -> float:
        """Nats that a forwarded visit costs, at most."""
        if self.response is None:
            return math.inf if self.agreement.tells_cell else 0.0
        return PureAccountant().add(self.response.event).epsilon()

    def forward(self, context: NDArray[np.float64]) -> Forward:
        """Write the message of one visit, for all receivers. context: (d,) in [0, 1]."""
        features, slices = self.agreement.features, self.agreement.slices
        places: tuple[int, ...] = ()
        if features:
            given = check_context(context, features).tolist()
            places = tuple([min(int(feature * slices), slices - 1) for feature in given])
        if self.response is not None:
            grid = (slices,) * features
            answer = self.response([int(np.ravel_multi_index(places, grid))], self._source)[0]
            places = tuple(int(place) for place in np.unravel_index(int(answer), grid))
        return Forward(self._number(), self.agreement.micros, slices, places)

    def _number(self) -> bytes:
        """Take the next 16 random bytes; many are drawn at once, anew in a forked process."""
        if not self._numbers or os.getpid() != self._process:
            self._process = os.getpid()
            self._numbers = self._source.words(2 * 256).astype(">u8").tobytes()
        number, self._numbers = self._numbers[:REQUEST_BYTES], self._numbers[REQUEST_BYTES:]
        return number


class Host:
    """Serves forwarded users by the vendor's own learner, and learns and reports no click.

    A visit is learned once, by the vendor that forwarded it.

    Attributes:
        home: the vendor's own learner.
    """

    def __init__(self, home: Policy) -> None:
        """Serve by this learner."""
        self.home = home

    def select(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video for a forwarded user."""
        return Choice(int(self.home.serve_forwarded(context[None, :])[0]), "exploit", None)

    def exploit(self, context: NDArray[np.float64]) -> Choice:
        """Choose as `select` does, which never explores."""
        return self.select(context)

    def answer(self, choice: Choice, reward: float) -> float | None:
        """Learn nothing and send nothing."""
        return None
