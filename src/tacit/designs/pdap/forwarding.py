"""A visitor's context as other vendors may see it, randomised once, and how they serve it.

Source      Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014), for the
            context's cell; Warner: Randomized response (JASA 1965), for a reward.
Guarantee   epsilon for one randomisation, towards all neighbours together, also if they collude:
            every neighbour and every retry gets the same bytes. Any two contexts are neighbours.
Not         that a request was made, when, and to whom. A policy that forwards because of where the
            context lies tells the true cell by it, unless the `Vendor` asks all at every visit.

`Neighbour` is a vendor as others know it: it serves their users, and reports on visits. With a
`Host` it shows what its own learner's `serve_many` says, and learns nothing: a forwarded visit is
learned once, by the vendor that forwarded it. Its rewards are noised from the first one, and
stretched so that their mean is right: nobody needs the exact one.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event, PureAccountant
from tacit.designs.pdap.messages import (
    MICRO,
    MOST_FEATURES,
    MOST_SLICES,
    NO_NOISE,
    REQUEST_BYTES,
    Forward,
    MessageError,
    Offer,
    Refusal,
    Reward,
)
from tacit.designs.pdap.policy import Cell, Choice, checked_context
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.randomized_response import MOST_CATEGORIES, BitRelease, KaryResponse
from tacit.mechanisms.samplers import check_epsilon, check_whole
from tacit.randomness import Source


@dataclass(frozen=True)
class Agreement:
    """How contexts are sent, as vendors agree on it. epsilon: nats, inf for the true cell.

    features: d, or 0 to tell nothing. slices: per feature; with noise, slices ** features answers
    are possible, at most 2 ** 20: few features, or two slices.
    """

    features: int
    slices: int
    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("features", self.features, least=0, most=MOST_FEATURES)
        check_whole("slices", self.slices, least=1, most=MOST_SLICES)
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
        return int(self.slices**self.features)

    @property
    def reported(self) -> bool:
        """Whether anything is sent at all."""
        return self.features > 0 and self.slices > 1

    @property
    def micros(self) -> int:
        """epsilon as messages state it, rounded up; 0 if nothing is sent."""
        if not self.reported:
            return 0
        return NO_NOISE if math.isinf(self.epsilon) else math.ceil(self.epsilon * MICRO)

    def agrees(self, forward: Forward) -> bool:
        """Whether a message is as agreed."""
        found = (len(forward.places), forward.slices, forward.epsilon)
        return found == (self.features, self.slices, self.micros)


CLEAR = MOST_SLICES
"""Slices of a context in the clear, as the paper forwards it."""


class Forwarder:
    """Randomises contexts, each visit's once; who limits a person's visits is the caller."""

    def __init__(self, agreement: Agreement, *, randomness: Source) -> None:
        self.agreement = agreement
        self._source = randomness
        noisy = agreement.reported and not math.isinf(agreement.epsilon)
        # A trifle less than was agreed, so that no rounding makes a budget of three last for two.
        spent = agreement.epsilon * (1 - 2**-40)
        self.response = KaryResponse(spent, agreement.answers) if noisy else None
        self._numbers = b""

    @property
    def event(self) -> Event | None:
        """What one randomisation costs; None if nothing is sent, or if nothing protects it."""
        return None if self.response is None else self.response.event

    @property
    def visit_epsilon(self) -> float:
        """Nats that a forwarded visit costs, at most."""
        if self.response is None:
            return math.inf if self.agreement.reported else 0.0
        return PureAccountant().add(self.response.event).epsilon()

    def forward(self, context: NDArray[np.float64]) -> Forward:
        """One message for this visit, for all receivers."""
        places = self._randomised(self._places(context))
        return Forward(self._number(), self.agreement.micros, self.agreement.slices, places)

    def _places(self, context: NDArray[np.float64]) -> tuple[int, ...]:
        if self.agreement.features == 0:
            return ()
        slices = self.agreement.slices
        features = checked_context(context, self.agreement.features).tolist()
        return tuple([min(int(feature * slices), slices - 1) for feature in features])

    def _randomised(self, places: tuple[int, ...]) -> tuple[int, ...]:
        if self.response is None:
            return places
        grid = (self.agreement.slices,) * len(places)
        answer = self.response([int(np.ravel_multi_index(places, grid))], self._source)[0]
        return tuple(int(place) for place in np.unravel_index(int(answer), grid))

    def _number(self) -> bytes:
        """16 random bytes; many are drawn at once."""
        if not self._numbers:
            self._numbers = self._source.words(2 * 256).astype(">u8").tobytes()
        number, self._numbers = self._numbers[:REQUEST_BYTES], self._numbers[REQUEST_BYTES:]
        return number


class Hosts(Protocol):
    """A policy for guests."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice: ...

    def answer(self, choice: Choice, reward: float) -> float:
        """What is sent for a reward of 0 or 1."""


class Serves(Protocol):
    """A learner that can show guests what it knows."""

    @property
    def n_own(self) -> int: ...

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) own videos for (n, d) contexts of others' users."""


class Host:
    """A policy over one's own videos that never learns; `answer` is what the other is sent.

    home: one's own learner. epsilon: of one answer, about its reward; inf sends it as it is.
    """

    def __init__(self, home: Serves, *, epsilon: float, randomness: Source) -> None:
        self.home = home
        self.epsilon = epsilon
        self.bit = BitRelease(epsilon)
        self._range = answer_range(epsilon)
        self._source = randomness

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """arms: refused, for what is shown is the learner's to say."""
        if arms is not None:
            raise ConfigError("ForwardedUsers are shown what the vendor's own learner has.")
        return Choice(int(self.home.serve_many(context[None, :])[0]), "exploit", Cell(0, ()))

    def answer(self, choice: Choice, reward: float) -> float:
        """For a reward of 0 or 1, one of the two ends of `answer_range`."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        return self._range[int(self.bit([int(reward)], self._source)[0])]


def answer_range(epsilon: float) -> tuple[float, float]:
    """What is sent for a released 0 and for a released 1, so that the mean is the reward."""
    truth = float(BitRelease(epsilon).truth)
    return -(1 - truth) / (2 * truth - 1), truth / (2 * truth - 1)


@dataclass(slots=True)
class _Guest:
    asked: bytes
    answer: bytes
    choice: Choice
    reward: bytes | None = None


class Neighbour:
    """guests, agreement, keeps: see `Vendor`."""

    _known: Mapping[str, object]
    """Those that are served."""

    def __init__(
        self,
        videos: Sequence[str],
        guests: Hosts | None,
        agreement: Agreement | None,
        *,
        keeps: int,
    ) -> None:
        self.guests, self.shared = guests, isinstance(guests, Host)
        self._guest_learner: Any = None if self.shared else guests
        self._agreement, self._keeps = agreement, keeps
        self._guest_videos = dict(enumerate(videos))
        self._open_guests: OrderedDict[tuple[str, bytes], _Guest] = OrderedDict()

    def serve(self, peer: str, data: bytes) -> bytes:
        """The answer to another vendor's Forward: an Offer or a Refusal. Any input is accepted.

        peer: who asks, as the connection has proved.
        """
        try:
            asked = Forward.decode(data)
        except MessageError:
            return Refusal(bytes(REQUEST_BYTES), "malformed").encode()
        if peer not in self._known:
            return Refusal(asked.request, "unknown").encode()
        before = self._open_guests.get((peer, asked.request))
        if before is not None:
            same = before.asked == data
            return before.answer if same else Refusal(asked.request, "malformed").encode()
        if self._agreement is None or not self._agreement.agrees(asked):
            return Refusal(asked.request, "not agreed").encode()
        if self.guests is None or not self._guest_videos:
            return Refusal(asked.request, "no video").encode()
        choice = self.guests.select(np.array(asked.context()))
        offer = Offer(asked.request, self._guest_videos[choice.arm]).encode()
        self._open_guests[peer, asked.request] = _Guest(data, offer, choice)
        if len(self._open_guests) > self._keeps:
            self._open_guests.popitem(last=False)
        return offer

    def unlearned(self, context: NDArray[np.float64]) -> str:
        """The own video that a forwarded user with this context would see, for an own user whose
        visit is none: nothing is learned of it, and time does not pass."""
        if self.guests is None:
            raise ConfigError("A vendor without a policy for guests has none for this.")
        return self._guest_videos[self.guests.select(context).arm]

    def guest_clicked(self, peer: str, request: bytes, reward: float) -> bytes | None:
        """The Reward to send for a guest, 0 or 1; the same bytes each time. None: no such guest."""
        guest = self._open_guests.get((peer, request))
        if guest is None or self.guests is None:
            return None
        if guest.reward is None:
            guest.reward = Reward.of(request, self.guests.answer(guest.choice, reward)).encode()
        return guest.reward

    def _add_guest_video(self, arm: int, name: str) -> None:
        """arm: its number for the vendor's own users."""
        if self.guests is not None:
            learner = self._guest_learner
            self._guest_videos[arm if learner is None else learner.add_arm()] = name

    def _remove_guest_video(self, name: str) -> None:
        if self.guests is not None:
            arm = arm_of(self._guest_videos, name, "video")
            if not self.shared:
                self._guest_learner.remove_arm(arm)
            del self._guest_videos[arm]


def arm_of(names: Mapping[int, str], name: str, what: str) -> int:
    for arm, known in names.items():
        if known == name:
            return arm
    raise ConfigError(f"There is no {what} {name!r}: it never joined, or has left.")
