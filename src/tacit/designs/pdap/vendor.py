"""A vendor: it serves its own users and those that other vendors forward, and learns from clicks.

A visit      choose() -> receive_offer() if a neighbour's offer is to be shown ->
             observe_click() and receive_reward(), in any order, or never. Between vendors only
             the encoded messages of `messages.py` are exchanged.
A guest      a user whom another vendor forwards: serve() -> observe_guest_click(). A repeated
             request gets the same answer, and counts once, while the first one is remembered.
Users        have no id here. Visits that wait for a neighbour's report are stored with their
             contexts.
Changes      neighbours join and leave at any time (add_peer, remove_peer), and videos leave at any
             time (remove_video). Videos join (add_video) unless forwarded users have a learner of
             their own.
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
        video: name of the video to show; None while it is still to come from `peer`.
        peer: the neighbour whose offer is or will be shown; None for an own video.
        peers_to_ask: neighbours to which `forward` is sent: the same bytes to each, and the same in
            a retry. `peer` is one of them, unless it is None.
        forward: the encoded Forward; None if nobody is asked.
        request: the number of the Forward, 16 bytes; empty if no neighbour's offer is to be shown.
        click: the reward that the vendor itself saw, 0 to 1; None before it is known.
        report: the reward that the neighbour reported, clamped to the agreed range; None before
            the report comes.
        learned: whether the visit was given to the policy, which learns from it once.
        number: of the visit at this vendor, from 1; public. While the vendor does not learn, it
            counts no visits, and new ones have the number of the last counted one.
        offer_known: whether the neighbour's answer has come, or the vendor has stopped waiting.
    """

    context: NDArray[np.float64] = field(repr=False)
    choice: Any = field(repr=False)
    video: str | None
    peer: str | None = None
    peers_to_ask: tuple[str, ...] = ()
    forward: bytes | None = field(default=None, repr=False)
    request: bytes = b""
    click: float | None = field(default=None, repr=False)
    report: float | None = None
    learned: bool = False
    number: int = 0
    offer_known: bool = False

    def is_waiting(self) -> bool:
        """Return whether the video is still to come from a neighbour's offer."""
        return self.peer is not None and self.video is None


class GuestPolicy(Protocol):
    """Chooses own videos for users that other vendors forward. Contexts are (d,) in [0, 1]."""

    def select(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video for a visit that may be learned from. The choice may explore."""

    def exploit(self, context: NDArray[np.float64]) -> Choice:
        """Choose an own video for a visit that is not learned from."""

    def answer(self, choice: Choice, reward: float) -> float | None:
        """Take a reward, 0 or 1, and return the reward to report to the vendor that forwarded.

        A policy that learns from forwarded users learns the reward here.

        Returns:
            The reward to report, perhaps with noise; None if nothing is reported.
        """


@dataclass(slots=True)
class _Guest:
    """One visit of a forwarded user.

    Attributes:
        request_message: the encoded Forward.
        answer: the encoded Offer that was sent back.
        choice: of the offered video, by the vendor's policy for forwarded users.
        reward: the encoded Reward that was sent; None if none was sent yet.
    """

    request_message: bytes
    answer: bytes
    choice: Choice
    reward: bytes | None = None


class Vendor:
    """One vendor among others.

    Attributes:
        policy: chooses for own users; at first its arms 0 to K - 1 are the K own videos, and the
            following numbers are neighbours.
        forwarded_users: the policy for forwarded users, such as a `Host`; None if none are
            served.
        asks_all: whether every visit's context is forwarded to all neighbours that can be asked, so
            that contexts do not decide who is asked. The vendor must then see all clicks itself: a
            neighbour that learned of a click would know whose offer was shown.
        learning: whether visits are counted and learned from, and the policy may explore. If
            False, the vendor only shows what it learned so far, and the caller reports no clicks.
        visits: visits of own users so far.
    """

    def __init__(
        self,
        policy: Policy,
        videos: Sequence[str],
        *,
        forwarded_users: GuestPolicy | None = None,
        peers: Sequence[str] = (),
        forwarder: Forwarder | None = None,
        agreement: Agreement | None = None,
        trust_settings: TrustSettings | None = None,
        asks_all: bool = False,
        remembered_visits: int = 10_000,
    ) -> None:
        """Start with nothing learned.

        Args:
            policy: chooses for own users.
            videos: names of the own videos, in the order of the policy's arms.
            forwarded_users: the policy for forwarded users; None if none are served.
            peers: names of the neighbours, in the order of the policy's arms.
            forwarder: randomises contexts that are sent; None if no neighbour is ever asked.
            agreement: the form in which neighbours send contexts; None means that of `forwarder`.
            trust_settings: rules of trust in neighbours; None means the defaults.
            asks_all: see the class.
            remembered_visits: how many forwarded users of each neighbour are remembered with their
                answers, and how many of the last visits may wait for a report; 0 if the caller
                stores them.

        Raises:
            ConfigError: The numbers of names and arms differ, a name occurs twice, or there are
                neighbours and no forwarder.
        """
        if (len(videos), len(peers)) != (len(policy.own), len(policy.neighbours)):
            raise ConfigError(
                f"The policy has {len(policy.own)} own videos and {len(policy.neighbours)} "
                f"neighbours; got {len(videos)} and {len(peers)} names."
            )
        if len(set(videos)) < len(videos) or len(set(peers)) < len(peers):
            raise ConfigError("Two videos, or two neighbours, have the same name.")
        if peers and forwarder is None:
            raise ConfigError("A vendor needs a Forwarder to ask neighbours.")
        self.policy = policy
        self.forwarded_users = forwarded_users
        self.asks_all = asks_all
        self.learning = True
        if agreement is None and forwarder is not None:
            agreement = forwarder.agreement
        self._agreement = agreement
        self._forwarder = forwarder
        self._remembered_visits = remembered_visits
        self._trust_settings = trust_settings or TrustSettings()
        self._waiting: OrderedDict[tuple[str, bytes], Visit] = OrderedDict()
        """Visits that wait for a report, by neighbour and number of the request, oldest first."""
        self._guests: dict[str, OrderedDict[bytes, _Guest]] = {}
        """Visits of forwarded users, by vendor and then by number of the request, oldest first.

        Each vendor has its own, so that none makes those of others forgotten by sending many.
        """
        self.resume(0, dict(enumerate(videos)), dict(enumerate(peers, len(videos))))

    def resume(self, visits: int, videos: Mapping[int, str], peers: Mapping[int, str]) -> None:
        """Set the names and the number of visits after `policy` was restored from a stored state.

        Trust in neighbours starts anew. Visits that wait for a report are forgotten, and so are
        forwarded users.

        Args:
            visits: of own users so far.
            videos: names of own videos, by number of the arm in `policy`.
            peers: names of neighbours, by number of the arm in `policy`.
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
        """Names of own videos, and names of neighbours, each by number of the arm in `policy`."""
        return dict(self._videos), dict(self._peers)

    @property
    def caution_epsilon(self) -> float:
        """Nats that a visit costs for trust in neighbours, in addition to what `policy` costs.

        0 if there is no forwarder, or no rule of trust uses sums; inf if the sums have no noise.
        """
        if self._forwarder is None or not self._trust_settings.uses_sums:
            return 0.0
        release = neighbour_release(self._trust_settings, self._noise_epsilon)
        return PureAccountant().add(release.event).epsilon()

    def trust_in(self, peer: str) -> NeighbourTrust:
        """Return the trust in a neighbour; ConfigError if there is no neighbour of this name."""
        _arm_of(self._peers, peer, "neighbour")
        return self._trust[peer]

    def choose(self, context: NDArray[np.float64], *, peers: Sequence[str] | None = None) -> Visit:
        """Choose an own video or a neighbour for a visit, and write the message to neighbours.

        Args:
            context: (d,) in [0, 1].
            peers: names of the neighbours that can be reached now; None means all. Which ones
                they are must not depend on earlier visits.

        Raises:
            ConfigError: There is no video, and no neighbour that can be asked.
        """
        if self.learning:
            self.visits += 1
            self._advance_time()
        arms_to_ask = self._arms_to_ask(peers)
        if not self._videos and not arms_to_ask:
            raise ConfigError("There is nothing to show: no video, and no neighbour to ask.")
        arms = None
        if len(arms_to_ask) < len(self._peers):
            arms = [*self._videos, *arms_to_ask]
        if self.learning:
            choice = self.policy.select(context, arms)
        else:
            choice = self.policy.exploit(context, arms)
        video = self._videos.get(choice.arm)
        peer = self._peers.get(choice.arm)
        visit = Visit(context, choice, video, peer, number=self.visits)
        if self.asks_all:
            visit.peers_to_ask = tuple(self._peers[arm] for arm in arms_to_ask)
        elif peer is not None:
            visit.peers_to_ask = (peer,)
        if visit.peers_to_ask and self._forwarder is not None:
            self._write_forward(visit, self._forwarder)
        return visit

    def receive_offer(self, visit: Visit, answer: bytes | None) -> str:
        """Take the neighbour's answer, and return the name of the video to show.

        If the answer offers no video, an own video is shown.

        Args:
            visit: whose `peer` was asked.
            answer: an encoded Offer or Refusal; None if nothing came in time.

        Raises:
            ConfigError: The visit shows no neighbour's offer, or there is no own video to show.
        """
        peer = visit.peer
        if peer is None:
            raise ConfigError("This visit does not wait for a neighbour.")
        video = messages.video_of(answer, visit.request)
        trust = None if visit.offer_known else self._trust.get(peer)
        visit.offer_known = True
        if trust is not None and self.learning:
            trust.count_call(has_offer=video is not None)
        if video is None:
            self._waiting.pop((peer, visit.request), None)
            own_arms = list(self._videos)
            if not own_arms:
                raise ConfigError("The neighbour has nothing, and there is no own video to show.")
            visit.choice = self.policy.choose_again(visit.context, own_arms, instead=visit.choice)
            video = self._videos[visit.choice.arm]
            visit.peer = None
        elif visit.choice.phase == "train":
            # A policy counts a "train" visit at once and ignores its reward, so 0 stands for it.
            self._learn(visit, 0.0)
        visit.video = video
        return video

    def observe_click(self, visit: Visit, reward: float) -> None:
        """Take the reward that the vendor itself saw at a visit; only the first one is used.

        This reward is learned, unless a neighbour's report was learned for this visit before.

        Args:
            visit: whose video was shown, an own video or a neighbour's.
            reward: 0 to 1; 1 for a click, 0 for none.

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
        """Take a neighbour's report of a reward. Only the first report of a visit is used.

        Args:
            peer: the neighbour, authenticated by the caller.
            data: an encoded Reward, or any other bytes.

        Returns:
            Whether the report was accepted, because a visit with a shown offer waited for it.
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
            peer: the vendor that asks, authenticated by the caller.
            data: an encoded Forward, or any other bytes.
        """
        try:
            forward = Forward.decode(data)
        except MessageError:
            return Refusal(bytes(messages.REQUEST_BYTES), "malformed").encode()
        if peer not in self._trust:
            return Refusal(forward.request, "unknown").encode()
        guests = self._guests.setdefault(peer, OrderedDict())
        earlier = guests.get(forward.request)
        if earlier is not None and earlier.request_message == data:
            return earlier.answer
        if earlier is not None:
            return Refusal(forward.request, "malformed").encode()
        if self._agreement is None or not self._agreement.agrees(forward):
            return Refusal(forward.request, "not agreed").encode()
        if self.forwarded_users is None or not self._videos:
            return Refusal(forward.request, "no video").encode()
        context = np.array(forward.context())
        if not self.learning:
            choice = self.forwarded_users.exploit(context)
            return Offer(forward.request, self._videos[choice.arm]).encode()
        choice = self.forwarded_users.select(context)
        offer = Offer(forward.request, self._videos[choice.arm]).encode()
        guests[forward.request] = _Guest(data, offer, choice)
        if len(guests) > self._remembered_visits:
            guests.popitem(last=False)
        return offer

    def choose_without_learning(self, context: NDArray[np.float64]) -> str:
        """Choose an own video by the policy for forwarded users, without learning from the visit.

        Raises:
            ConfigError: There is no policy for forwarded users, or no own video.
        """
        if self.forwarded_users is None:
            raise ConfigError("This vendor has no policy for forwarded users.")
        if not self._videos:
            raise ConfigError("There is no own video to show.")
        return self._videos[self.forwarded_users.exploit(context).arm]

    def observe_guest_click(self, peer: str, request: bytes, reward: float) -> bytes | None:
        """Give a forwarded user's reward to the policy for such users; return the encoded Reward.

        Args:
            peer: the vendor that forwarded.
            request: the number of its request.
            reward: 0 or 1.

        Returns:
            The encoded Reward. If the click is reported again, the same bytes are returned and the
            policy does not learn again. None if no such request is remembered, or if the policy
            reports nothing. A policy that reports nothing is given the reward again in each call.
        """
        guests = self._guests.get(peer)
        guest = None if guests is None else guests.get(request)
        if guest is None or self.forwarded_users is None:
            return None
        if guest.reward is None:
            reported = self.forwarded_users.answer(guest.choice, reward)
            if reported is not None:
                guest.reward = Reward.from_number(request, reported).encode()
        return guest.reward

    def add_video(self, name: str) -> None:
        """Add an own video of which nothing is known.

        Raises:
            ConfigError: There is a video of this name, or forwarded users have another learner
                than own users.
        """
        self.add_videos([name])

    def add_videos(self, names: Sequence[str]) -> None:
        """Add own videos of which nothing is known.

        Args:
            names: of videos; each once.

        Raises:
            ConfigError: There is a video of one of these names, or forwarded users have another
                learner than own users. Then none is added.
        """
        if not names:
            return
        existing = set(self._videos.values())
        for name in names:
            if name in existing:
                raise ConfigError(f"There is a video {name!r} already.")
            existing.add(name)
        if self.forwarded_users is not None and not isinstance(self.forwarded_users, Host):
            raise ConfigError(
                "Videos cannot be added where forwarded users have a learner of their own."
            )
        arms = self.policy.add_own_arms(len(names))
        self._videos.update(zip(arms, names, strict=True))

    def remove_video(self, name: str) -> None:
        """Never show this video again.

        Raises:
            ConfigError: There is no video of this name, or the policy has no other arm.
        """
        arm = _arm_of(self._videos, name, "video")
        self.policy.remove_arm(arm)
        del self._videos[arm]

    def add_peer(self, peer: str) -> None:
        """Add a neighbour of which nothing is known.

        Raises:
            ConfigError: There is a neighbour of this name, or there is no forwarder.
        """
        if peer in self._trust:
            raise ConfigError(f"There is a neighbour {peer!r} already.")
        if self._forwarder is None:
            raise ConfigError("A vendor needs a Forwarder to ask neighbours.")
        self._peers[self.policy.add_arm(neighbour=True)] = peer
        self._trust[peer] = self._new_trust()

    def remove_peer(self, peer: str) -> None:
        """Stop asking and serving this neighbour.

        Raises:
            ConfigError: There is no neighbour of this name, or the policy has no other arm.
        """
        arm = _arm_of(self._peers, peer, "neighbour")
        self.policy.remove_arm(arm)
        del self._peers[arm], self._trust[peer]

    @property
    def _noise_epsilon(self) -> float:
        """Epsilon of the sums for trust; inf, which adds no noise, if `policy` proves nothing."""
        return self._trust_settings.epsilon if math.isfinite(self.policy.epsilon) else math.inf

    def _new_trust(self) -> NeighbourTrust:
        """Return the trust in a neighbour of which nothing is known."""
        return NeighbourTrust(self._trust_settings, self._noise_epsilon)

    def _arms_to_ask(self, peers: Sequence[str] | None) -> list[int]:
        """List the arms of the neighbours, among `peers`, that may be asked at this visit."""
        arms: list[int] = []
        for arm, name in self._peers.items():
            is_reachable = peers is None or name in peers
            if is_reachable and self._trust[name].may_be_asked(self.visits):
                arms.append(arm)
        return arms

    def _write_forward(self, visit: Visit, forwarder: Forwarder) -> None:
        """Randomise the context of a visit, and write the Forward to all that are asked."""
        message = forwarder.forward(visit.context)
        visit.forward = message.encode()
        if visit.peer is not None:
            visit.request = message.request
            # With asks_all the vendor sees all clicks itself, and waits for no reports.
            expects_report = self.learning and not self.asks_all
            if expects_report and self._remembered_visits:
                self._waiting[visit.peer, visit.request] = visit

    def _advance_time(self) -> None:
        """Forget visits that have waited too long for a report; end the epoch of trust if due.

        Visits are forgotten by their age. If they were forgotten when too many visits wait, this
        would depend on what happened at those visits.
        """
        while self._waiting:
            oldest = next(iter(self._waiting))
            if self._waiting[oldest].number > self.visits - self._remembered_visits:
                break
            del self._waiting[oldest]
        is_last_of_epoch = self.visits % self._trust_settings.epoch == 0
        if not is_last_of_epoch or not self._trust_settings.uses_sums:
            return
        for name, trust in self._trust.items():
            stops_using_reports = trust.end_epoch(self.visits)
            if stops_using_reports:
                self._replace_arm(name)

    def _replace_arm(self, name: str) -> None:
        """Give a neighbour a new arm, so that what was learned from its reports is forgotten."""
        old_arm = _arm_of(self._peers, name, "neighbour")
        self._peers[self.policy.add_arm(neighbour=True)] = name
        self.policy.remove_arm(old_arm)
        del self._peers[old_arm]

    def _learn(self, visit: Visit, reward: float) -> None:
        """Let the policy learn from a visit once, unless its arm has left or learning is off."""
        has_arm = visit.choice.arm in self._videos or visit.choice.arm in self._peers
        if has_arm and self.learning and not visit.learned:
            visit.learned = True
            self.policy.update(visit.choice, reward)


def _arm_of(names: Mapping[int, str], name: str, noun: str) -> int:
    """Find the number of the arm that has this name.

    Args:
        names: names by number of the arm.
        name: to look for.
        noun: for such an arm in the error, "video" or "neighbour".

    Raises:
        ConfigError: No arm has this name.
    """
    for arm, name_of_arm in names.items():
        if name_of_arm == name:
            return arm
    raise ConfigError(f"There is no {noun} {name!r}: it never joined, or has left.")
