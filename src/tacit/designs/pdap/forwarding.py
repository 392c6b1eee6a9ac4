"""Forwarding: a visitor's context is randomised once and sent to neighbours, which offer videos.

`Agreement` is the form of the messages, `Forwarder` writes them at the vendor that a visitor
visits, and `Host` chooses the videos that a neighbour offers.

Source      Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
            randomised response of the context's cell, which is one slice of each feature.
Guarantee   epsilon for one randomisation, against all other vendors together, even if they collude,
            as long as each of them, and each retry, gets the same bytes. Neighbouring data differ
            in the context. At epsilon = inf the true cell is sent, and nothing is guaranteed.
Not covered that a request was made, when, and to whom. A policy that decides by the context whether
            to forward reveals the true cell in this way, unless at every visit the `Vendor` asks
            all neighbours that can be asked.
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
    """The form in which vendors agree to send contexts.

    Attributes:
        features: d, number of features of a context; at 0, requests have no context.
        slices: number of slices of each feature. With noise, slices^features is at most 2^20.
        epsilon: nats of one context; inf sends the true cell.
    """

    features: int
    slices: int
    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("features", self.features, least=0, most=messages.MOST_FEATURES)
        check_whole("slices", self.slices, least=1, most=messages.MOST_SLICES)
        is_noisy = not math.isinf(self.epsilon)
        if is_noisy and self.features * math.log(self.slices) > math.log(MOST_CATEGORIES):
            raise ConfigError(
                f"{self.slices} slices of {self.features} features make more cells than "
                f"{MOST_CATEGORIES}: take fewer features or fewer slices."
            )
        if is_noisy and math.ceil(self.epsilon * MICRO) >= NO_NOISE:
            raise ConfigError("An epsilon above 4294.967294 protects nobody: use inf.")

    @property
    def cells(self) -> int:
        """The number of cells that a message can name."""
        return int(self.slices**self.features)

    @property
    def depends_on_context(self) -> bool:
        """Whether a message depends on the context at all."""
        return self.features > 0 and self.slices > 1

    @property
    def epsilon_in_millionths(self) -> int:
        """The field `epsilon` of messages: millionths of a nat, rounded up.

        0 if the message does not depend on the context; NO_NOISE at epsilon = inf.
        """
        if not self.depends_on_context:
            return 0
        return NO_NOISE if math.isinf(self.epsilon) else math.ceil(self.epsilon * MICRO)

    def agrees(self, forward: Forward) -> bool:
        """Return whether a message has the features, slices and epsilon that were agreed on."""
        actual = (len(forward.places), forward.slices, forward.epsilon)
        return actual == (self.features, self.slices, self.epsilon_in_millionths)


CLEAR_SLICES = messages.MOST_SLICES
"""Slices for contexts that are sent without noise, as in the paper: the finest grid there is."""
_ROUNDING_MARGIN = 2**-40
"""Share of epsilon that is not used, so that a budget for n visits pays for n despite rounding."""


class Forwarder:
    """Randomises the context of each visit once. The caller has to limit the visits of a person.

    Attributes:
        agreement: how contexts are sent.
        response: the mechanism; None if a message has the true cell or does not depend on the
            context.
    """

    def __init__(self, agreement: Agreement, *, randomness: Source) -> None:
        """Prepare the mechanism of an agreement."""
        self.agreement = agreement
        self._source = randomness
        is_noisy = agreement.depends_on_context and not math.isinf(agreement.epsilon)
        epsilon = agreement.epsilon * (1 - _ROUNDING_MARGIN)
        self.response = KaryResponse(epsilon, agreement.cells) if is_noisy else None
        self._random_bytes = b""  # drawn ahead, for the numbers of requests
        self._process = os.getpid()

    @property
    def event(self) -> Event | None:
        """The cost of one randomisation; None where `response` is None."""
        return None if self.response is None else self.response.event

    @property
    def visit_epsilon(self) -> float:
        """Nats that a forwarded visit costs, at most.

        inf if the true cell is sent; 0 if a message does not depend on the context.
        """
        if self.response is None:
            return math.inf if self.agreement.depends_on_context else 0.0
        return PureAccountant().add(self.response.event).epsilon()

    def forward(self, context: NDArray[np.float64]) -> Forward:
        """Write the message of one visit, which all receivers get.

        Args:
            context: (d,) in [0, 1]; ignored if requests have no context.

        Raises:
            DataError: The context does not have this form.
        """
        features = self.agreement.features
        slices = self.agreement.slices
        places: tuple[int, ...] = ()  # for each feature, the number of the slice that it lies in
        if features:
            values = check_context(context, features).tolist()
            places = tuple([min(int(value * slices), slices - 1) for value in values])
        if self.response is not None:
            shape = (slices,) * features
            true_cell = int(np.ravel_multi_index(places, shape))
            randomised_cell = int(self.response([true_cell], self._source)[0])
            places = tuple(int(place) for place in np.unravel_index(randomised_cell, shape))
        return Forward(
            self._draw_request_number(), self.agreement.epsilon_in_millionths, slices, places
        )

    def _draw_request_number(self) -> bytes:
        """Return the next REQUEST_BYTES random bytes.

        The bytes of 256 requests are drawn at once. A forked process draws bytes of its own.
        """
        if not self._random_bytes or os.getpid() != self._process:
            self._process = os.getpid()
            words = self._source.words(2 * 256)  # a request number has 16 bytes, a word has 8
            self._random_bytes = words.astype(">u8").tobytes()
        number = self._random_bytes[:REQUEST_BYTES]
        self._random_bytes = self._random_bytes[REQUEST_BYTES:]
        return number


class Host:
    """Serves forwarded users by the vendor's own learner, without learning or reporting clicks.

    Only the vendor that forwarded a visit learns it.

    Attributes:
        policy: the vendor's own learner.
    """

    def __init__(self, policy: Policy) -> None:
        """Serve by this learner."""
        self.policy = policy

    def select(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video for a forwarded user, as the learner's `serve_forwarded` does."""
        video = int(self.policy.serve_forwarded(context[None, :])[0])
        return Choice(video, "exploit", None)

    def exploit(self, context: NDArray[np.float64]) -> Choice:
        """Choose as `select` does: nothing is learned at either."""
        return self.select(context)

    def answer(self, choice: Choice, reward: float) -> float | None:
        """Learn nothing and send nothing."""
        return None
