"""A vendor: a policy for its own users, one for forwarded users, names of videos, other vendors.

A visit      choose() -> receive_offer() if another vendor is to be asked ->
             observe_click(), receive_reward(), in any order, or never. Bytes in, bytes out:
             nothing but `messages.py` crosses.
A guest      a user whom another vendor forwards: serve() -> observe_guest_click(). The same bytes
             again get the same answer, and count once.
Users        have no record here: a new one needs nothing, and no id is asked for.
Changes      Videos come and go at any time (add_video, remove_video) where the vendor's own learner
             serves forwarded users, and neighbours (add_peer, remove_peer).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap import messages
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Host
from tacit.designs.pdap.messages import Forward, MessageError, Offer, Refusal, Reward
from tacit.designs.pdap.policies.base import Choice, Policy
from tacit.designs.pdap.trust import NeighbourTrust, TrustSettings, neighbour_release
from tacit.errors import ConfigError, DataError


@dataclass(eq=False, slots=True)
class Visit:
    """One visit of an own user.

    Attributes:
        context: (d,) in [0, 1].
        choice: of the vendor's own policy.
        video: what is shown; None while a neighbour is to be asked.
        peer: whose offer will be shown, or was; None for an own video.
        asks: whom to send `forward`, the same bytes for every peer and every retry; it holds
            `peer`.
        forward: the message to them; None if nobody is asked.
        request: its number, 16 bytes; empty if nobody is asked for a video.
        click: what the vendor saw itself, 0 to 1; None if nothing yet.
        report: the reward that the neighbour reported, clamped; None if none yet.
        learned: whether the policy has learned from it.
        number: of all visits here; public.
        offer_known: whether it is known whether an offer came.
    """

    context: NDArray[np.float64] = field(repr=False)
    choice: Any = field(repr=False)
    video: str | None
    peer: str | None = None
    asks: tuple[str, ...] = ()
    forward: bytes | None = field(default=None, repr=False)
    request: bytes = b""
    click: float | None = field(default=None, repr=False)
    report: float | None = None
    learned: bool = False
    number: int = 0
    offer_known: bool = False

    def is_waiting(self) -> bool:
        """Whether a neighbour is asked; no longer so once it turns out to have nothing."""
        return self.peer is not None


class GuestPolicy(Protocol):
    """Chooses own videos for users that other vendors forward."""

    def select(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video, and perhaps explore."""

    def exploit(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video by what was learned, without exploring."""

    def answer(self, choice: Choice, reward: float) -> float | None:
        """Learn a reward, 0 or 1, and return what is sent to the vendor that forwarded.

        None sends nothing.
        """


@dataclass(slots=True)
class _Guest:
    """A forwarded user: the request, what was answered, and the reward that was sent."""

    asked: bytes
    answer: bytes
    choice: Choice
    reward: bytes | None = None


class Vendor:
    """One vendor among others.

    Attributes:
        home: the policy for its own users; its arms 0 to K - 1 are videos, then neighbours.
        forwarded_users: the policy for forwarded users: a `Host`, or another one; None for none.
        asks_all: whether every visit's forward goes to all neighbours that can be asked, so that
            who is asked does not follow from contexts. The vendor then sees all clicks itself: a
            neighbour that learns of them knows whose offer was shown.
        learning: whether visits and forwarded users are explored with and learned from. False
            shows what was learned so far: the caller then reports no click, and no time passes.
        visits: of own users so far.
    """

    def __init__(
        self,
        home: Policy,
        videos: Sequence[str],
        *,
        forwarded_users: GuestPolicy | None = None,
        peers: Sequence[str] = (),
        forwarder: Forwarder | None = None,
        agreement: Agreement | None = None,
        trust_settings: TrustSettings | None = None,
        asks_all: bool = False,
        remembers: int = 10_000,
    ) -> None:
        """Start with nothing learned.

        Args:
            home: the policy for own users.
            videos: names of its first arms.
            forwarded_users: the policy for forwarded users.
            peers: names of its other arms.
            forwarder: randomises contexts that are sent; None never asks anybody.
            agreement: how others' contexts are sent here; None: as one's own.
            trust_settings: None: the usual ones.
            asks_all: see the class.
            remembers: forwarded users whose answers are remembered, and visits that wait for a
                reward; 0 where the caller does.

        Raises:
            ConfigError: Names and arms do not fit, or neighbours are to be asked without a
                forwarder.
        """
        if (len(videos), len(peers)) != (len(home.own), len(home.neighbours)):
            raise ConfigError(
                f"The policy has {len(home.own)} own videos and {len(home.neighbours)} neighbours; "
                f"got {len(videos)} and {len(peers)} names."
            )
        if len(set(videos)) < len(videos) or len(set(peers)) < len(peers):
            raise ConfigError("Two videos, or two neighbours, have one name.")
        if peers and forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        self.home = home
        self.forwarded_users = forwarded_users
        self.asks_all = asks_all
        self.learning = True
        self._agreement = agreement or (None if forwarder is None else forwarder.agreement)
        self._forwarder = forwarder
        self._remembers = remembers
        self._trust_settings = trust_settings or TrustSettings()
        self._waiting: OrderedDict[tuple[str, bytes], Visit] = OrderedDict()
        self._guests: OrderedDict[tuple[str, bytes], _Guest] = OrderedDict()
        self.resume(0, dict(enumerate(videos)), dict(enumerate(peers, len(videos))))

    def resume(self, visits: int, videos: Mapping[int, str], peers: Mapping[int, str]) -> None:
        """Go on with these names, by the arms that `home` has now, after so many visits.

        Of neighbours nothing is known at first; visits and forwarded users that waited are
        forgotten.
        """
        self.visits = visits
        self._videos = dict(videos)
        self._peers = dict(peers)
        self._trust = {peer: self._new_trust() for peer in peers.values()}
        self._waiting.clear()
        self._guests.clear()

    @property
    def videos(self) -> tuple[str, ...]:
        """Names of own videos."""
        return tuple(self._videos.values())

    @property
    def peers(self) -> tuple[str, ...]:
        """Names of neighbours."""
        return tuple(self._peers.values())

    @property
    def arms(self) -> tuple[dict[int, str], dict[int, str]]:
        """Names of videos, and of neighbours, by the arms that they are of `home`."""
        return dict(self._videos), dict(self._peers)

    @property
    def caution_epsilon(self) -> float:
        """Nats of one visit, present or absent, for trust; on top of what `home` charges."""
        if self._forwarder is None or not self._trust_settings.watches:
            return 0.0
        release = neighbour_release(self._trust_settings, self._noise_epsilon)
        return PureAccountant().add(release.event).epsilon()

    def trust_in(self, peer: str) -> NeighbourTrust:
        """Knowledge of a neighbour; ConfigError for a stranger."""
        _arm_of(self._peers, peer, "neighbour")
        return self._trust[peer]

    def choose(self, context: NDArray[np.float64], *, peers: Sequence[str] | None = None) -> Visit:
        """Choose an own video or a neighbour, and write what is sent if neighbours are asked.

        Args:
            context: (d,) in [0, 1].
            peers: neighbours that can be asked now, by name; None: all. Which ones must not follow
                from other visits.

        Raises:
            ConfigError: There is no video, and no neighbour that can be asked.
        """
        if self.learning:
            self.visits += 1
            self._advance_time()
        reached = {name for name, trust in self._trust.items() if trust.may_be_asked(self.visits)}
        if peers is not None:
            reached &= set(peers)
        open_arms = [arm for arm, name in self._peers.items() if name in reached]
        if not self._videos and not open_arms:
            raise ConfigError("There is nothing to show: no video, and no neighbour to ask.")
        arms = None
        if len(open_arms) < len(self._peers):
            arms = [*self._videos, *open_arms]
        choose = self.home.select if self.learning else self.home.exploit
        choice = choose(context, arms)
        video, peer = self._videos.get(choice.arm), self._peers.get(choice.arm)
        visit = Visit(context, choice, video, peer, number=self.visits)
        if self.asks_all:
            visit.asks = tuple(self._peers[arm] for arm in open_arms)
        elif peer is not None:
            visit.asks = (peer,)
        if visit.asks and self._forwarder is not None:
            self._write_forward(visit, self._forwarder)
        return visit

    def receive_offer(self, visit: Visit, answer: bytes | None) -> str:
        """Take the neighbour's answer to a visit that waits, and return the video to show.

        Args:
            visit: one that waits.
            answer: an encoded Offer or Refusal; None if nothing came in time. Without an offer an
                own video is shown.

        Raises:
            ConfigError: The visit waits for nobody, or there is no own video to show.
        """
        peer = visit.peer
        if peer is None:
            raise ConfigError("This visit waits for no neighbour.")
        video = messages.video_of(answer, visit.request)
        trust = None if visit.offer_known else self._trust.get(peer)
        visit.offer_known = True
        if trust is not None and self.learning:
            trust.count_call(came=video is not None)
        if video is None:
            self._waiting.pop((peer, visit.request), None)
            own = list(self._videos)
            if not own:
                raise ConfigError("The neighbour has nothing, and there is no own video to show.")
            visit.choice = self.home.settle(visit.context, own, instead=visit.choice)
            video = self._videos[visit.choice.arm]
            visit.peer = None
        elif visit.choice.phase == "train":  # counts, whatever comes of it
            self._learn(visit, 0.0)
        visit.video = video
        return video

    def observe_click(self, visit: Visit, reward: float) -> None:
        """Learn what the vendor saw itself, no matter whose video it was; once.

        Args:
            visit: whose video was shown.
            reward: 0 to 1.

        Raises:
            DataError: The reward is out of range.
        """
        if not 0 <= reward <= 1:
            raise DataError("a click is out of range", expected="0 to 1")
        if visit.click is not None:
            return
        visit.click = float(reward)
        trust = None if visit.peer is None else self._trust.get(visit.peer)
        if trust is not None:
            trust.count_seen_click()
            if visit.report is not None:
                trust.compare_report(visit.report, visit.click)
        self._learn(visit, visit.click)

    def receive_reward(self, peer: str, data: bytes) -> bool:
        """Take a neighbour's report, once for each visit it was asked at, after its offer.

        Args:
            peer: who reports, as the connection has proved.
            data: an encoded Reward. Any input is accepted.

        Returns:
            Whether it is the report of a visit that waits for one.
        """
        try:
            message = Reward.decode(data)
        except MessageError:
            return False
        visit = self._waiting.get((peer, message.request))
        trust = self._trust.get(peer)
        if visit is None or trust is None or visit.video is None:
            return False
        del self._waiting[peer, message.request]
        visit.report = self._trust_settings.clamp(message.reward / messages.MICRO)
        if visit.click is not None:
            trust.compare_report(visit.report, visit.click)
        elif trust.uses_reports:
            self._learn(visit, visit.report)
        return True

    def serve(self, peer: str, data: bytes) -> bytes:
        """Answer another vendor's Forward with an encoded Offer or Refusal.

        Args:
            peer: who asks, as the connection has proved.
            data: an encoded Forward. Any input is accepted.
        """
        try:
            forward = Forward.decode(data)
        except MessageError:
            return Refusal(bytes(messages.REQUEST_BYTES), "malformed").encode()
        if peer not in self._trust:
            return Refusal(forward.request, "unknown").encode()
        earlier = self._guests.get((peer, forward.request))
        if earlier is not None:
            is_same = earlier.asked == data
            return earlier.answer if is_same else Refusal(forward.request, "malformed").encode()
        if self._agreement is None or not self._agreement.agrees(forward):
            return Refusal(forward.request, "not agreed").encode()
        if self.forwarded_users is None or not self._videos:
            return Refusal(forward.request, "no video").encode()
        context = np.array(forward.context())
        if not self.learning:
            shown = self.forwarded_users.exploit(context)
            return Offer(forward.request, self._videos[shown.arm]).encode()
        choice = self.forwarded_users.select(context)
        offer = Offer(forward.request, self._videos[choice.arm]).encode()
        self._guests[peer, forward.request] = _Guest(data, offer, choice)
        if len(self._guests) > self._remembers:
            self._guests.popitem(last=False)
        return offer

    def choose_without_learning(self, context: NDArray[np.float64]) -> str:
        """Choose the own video that a forwarded user would see, for a visit that is not learned."""
        if self.forwarded_users is None:
            raise ConfigError("A vendor without a policy for forwarded users has none for this.")
        return self._videos[self.forwarded_users.select(context).arm]

    def observe_guest_click(self, peer: str, request: bytes, reward: float) -> bytes | None:
        """Learn a forwarded user's click, and return the encoded Reward to send.

        Args:
            peer: the vendor that forwarded.
            request: the number of its request.
            reward: 0 or 1.

        Returns:
            The same bytes each time; None if there is no such user, or nothing is reported.
        """
        guest = self._guests.get((peer, request))
        if guest is None or self.forwarded_users is None:
            return None
        if guest.reward is None:
            sent = self.forwarded_users.answer(guest.choice, reward)
            if sent is not None:
                guest.reward = Reward.from_number(request, sent).encode()
        return guest.reward

    def add_video(self, name: str) -> None:
        """Add an own video of which nothing is known.

        Raises:
            ConfigError: There is one of this name, or forwarded users have a learner of their own.
        """
        if name in self._videos.values():
            raise ConfigError(f"There is a video {name!r} already.")
        if self.forwarded_users is not None and not isinstance(self.forwarded_users, Host):
            raise ConfigError("No video joins where forwarded users have a learner of their own.")
        self._videos[self.home.add_arm()] = name

    def remove_video(self, name: str) -> None:
        """Never show this video again; ConfigError if there is none."""
        arm = _arm_of(self._videos, name, "video")
        self.home.remove_arm(arm)
        del self._videos[arm]

    def add_peer(self, peer: str) -> None:
        """Add a neighbour of which nothing is known.

        Raises:
            ConfigError: There is one of this name, or there is no forwarder.
        """
        if peer in self._trust:
            raise ConfigError(f"There is a neighbour {peer!r} already.")
        if self._forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        self._peers[self.home.add_arm(neighbour=True)] = peer
        self._trust[peer] = self._new_trust()

    def remove_peer(self, peer: str) -> None:
        """Neither ask nor serve this neighbour from now on; ConfigError if there is none."""
        arm = _arm_of(self._peers, peer, "neighbour")
        self.home.remove_arm(arm)
        del self._peers[arm], self._trust[peer]

    @property
    def _noise_epsilon(self) -> float:
        """Nats of one visit for trust; inf, no noise, where the learner promises nothing."""
        return self._trust_settings.epsilon if math.isfinite(self.home.epsilon) else math.inf

    def _new_trust(self) -> NeighbourTrust:
        return NeighbourTrust(self._trust_settings, self._noise_epsilon)

    def _write_forward(self, visit: Visit, forwarder: Forwarder) -> None:
        """Randomise the context of a visit and write the message to all that are asked."""
        message = forwarder.forward(visit.context)
        visit.forward = message.encode()
        if visit.peer is not None:
            visit.request = message.request
            if self._remembers and not self.asks_all and self.learning:
                self._waiting[visit.peer, visit.request] = visit

    def _advance_time(self) -> None:
        """Do what follows from the number of visits alone, and from what is released then."""
        while self._waiting:  # by their age: how many others wait would tell of these
            oldest = next(iter(self._waiting))
            if self._waiting[oldest].number > self.visits - self._remembers:
                break
            del self._waiting[oldest]
        if self.visits % self._trust_settings.epoch or not self._trust_settings.watches:
            return
        for name, trust in self._trust.items():
            if trust.end_epoch(self.visits):  # its arm starts anew, without what it reported
                arm = _arm_of(self._peers, name, "neighbour")
                self._peers[self.home.add_arm(neighbour=True)] = name
                self.home.remove_arm(arm)
                del self._peers[arm]

    def _learn(self, visit: Visit, reward: float) -> None:
        """Let the policy learn from a visit, once, while its arm is here."""
        is_here = visit.choice.arm in self._videos or visit.choice.arm in self._peers
        if is_here and self.learning and not visit.learned:
            visit.learned = True
            self.home.update(visit.choice, reward)


def _arm_of(names: Mapping[int, str], name: str, what: str) -> int:
    """The arm of this name; ConfigError if there is none."""
    for arm, known in names.items():
        if known == name:
            return arm
    raise ConfigError(f"There is no {what} {name!r}: it never joined, or has left.")
