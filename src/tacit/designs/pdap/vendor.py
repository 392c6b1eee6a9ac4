"""A vendor: a policy for its own users, one for forwarded users, names of videos, other vendors.

A visit   choose() -> offered() if another vendor is to be asked ->
          clicked(), rewarded(), in any order, or never. Bytes in, bytes out: nothing but
          `messages.py` crosses.
A guest   serve() -> guest_clicked(). The same bytes again get the same answer, and count once.
Users     have no record here: a new one needs nothing, and no id is asked for.
Who may   come and go at any time: videos (add_video, remove_video) where the vendor's own learner
          serves forwarded users, and neighbours (add_peer, remove_peer).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap import messages
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Host
from tacit.designs.pdap.messages import Forward, MessageError, Offer, Refusal, Reward
from tacit.designs.pdap.policy import Choice, Policy
from tacit.designs.pdap.trust import Peer, TrustSettings, release_for
from tacit.errors import ConfigError, DataError


@dataclass(eq=False, slots=True)
class Visit:
    """video: what is shown; None while a neighbour is to be asked. peer: whose offer will be shown.
    asks: whom to send `forward`, the same bytes for every peer and every retry; it holds `peer`.
    number: of all visits here; public. came: whether it is known whether an offer came."""

    context: NDArray[np.float64]
    choice: Any
    video: str | None
    peer: str | None = None
    asks: tuple[str, ...] = ()
    forward: bytes | None = None
    request: bytes = b""
    click: float | None = None
    word: float | None = None
    learned: bool = False
    number: int = 0
    came: bool = False

    def waits(self) -> bool:
        """Whether a neighbour is asked; no longer so once it turns out to have nothing."""
        return self.peer is not None


@dataclass(slots=True)
class _Guest:
    asked: bytes
    answer: bytes
    choice: Choice
    reward: bytes | None = None


class Vendor:
    """home: arms 0 to K - 1 are `videos`, then `peers`.

    forwarded_users: their policy, a `Host` or another one. forwarder: None never asks anybody.
    agreement: how others' contexts are sent here; None: as one's own. asks_all: send every visit's
    forward to all neighbours that can be asked, so that who is asked does not follow from contexts.
    Home sees all clicks itself: a neighbour that learns of them knows whose offer was shown. keeps:
    forwarded users whose answers it remembers, and visits that wait for a reward; 0 where the
    caller does.
    """

    def __init__(
        self,
        home: Policy,
        videos: Sequence[str],
        *,
        forwarded_users: Any = None,
        peers: Sequence[str] = (),
        forwarder: Forwarder | None = None,
        agreement: Agreement | None = None,
        trust_settings: TrustSettings | None = None,
        asks_all: bool = False,
        keeps: int = 10_000,
    ) -> None:
        if (len(videos), len(peers)) != (len(home.own), len(home.neighbours)):
            raise ConfigError(
                f"The policy has {len(home.own)} own videos and {len(home.neighbours)} neighbours; "
                f"got {len(videos)} and {len(peers)} names."
            )
        if len(set(videos)) < len(videos) or len(set(peers)) < len(peers):
            raise ConfigError("Two videos, or two neighbours, have one name.")
        if peers and forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        self.home, self.forwarded_users, self.asks_all = home, forwarded_users, asks_all
        self.learning = True
        """Whether visits and forwarded users are learned from, and explored with. False shows what
        was learned so far: the caller then reports no click, and no time passes."""
        self._agreement = agreement or (None if forwarder is None else forwarder.agreement)
        self._forwarder, self._keeps = forwarder, keeps
        self._trust = trust_settings or TrustSettings()
        self._waiting: OrderedDict[tuple[str, bytes], Visit] = OrderedDict()
        self._open_guests: OrderedDict[tuple[str, bytes], _Guest] = OrderedDict()
        self.resume(0, dict(enumerate(videos)), dict(enumerate(peers, len(videos))))

    def resume(self, visits: int, videos: Mapping[int, str], peers: Mapping[int, str]) -> None:
        """Go on with these, by the arms that `home` has now, after so many visits. Of neighbours
        nothing is known at first; visits and forwarded users that waited are forgotten."""
        self.visits = visits
        self._videos, self._peers = dict(videos), dict(peers)
        self._known = {peer: Peer(self._trust, self._noise_epsilon) for peer in peers.values()}
        self._waiting.clear()
        self._open_guests.clear()

    @property
    def videos(self) -> tuple[str, ...]:
        return tuple(self._videos.values())

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(self._peers.values())

    @property
    def arms(self) -> tuple[dict[int, str], dict[int, str]]:
        """Names of videos, and of neighbours, by the arms that they are at `home`."""
        return dict(self._videos), dict(self._peers)

    @property
    def caution_epsilon(self) -> float:
        """Of one visit, present or absent, on top of what `home` charges: for trust."""
        if self._forwarder is None or not self._trust.looks:
            return 0.0
        release = release_for(self._trust, self._noise_epsilon)
        return PureAccountant().add(release.event).epsilon()

    def known(self, peer: str) -> Peer:
        _arm_of(self._peers, peer, "neighbour")  # refuses a stranger
        return self._known[peer]

    def choose(self, context: NDArray[np.float64], *, peers: Sequence[str] | None = None) -> Visit:
        """Own video or neighbour, and what is sent if neighbours are to be asked. peers: those that
        can be asked now, by name; None: all. Which ones must not follow from other visits."""
        if self.learning:
            self.visits += 1
            self._pass_time()
        reached = {name for name, one in self._known.items() if one.open(self.visits)}
        if peers is not None:
            reached &= set(peers)
        open_to = [arm for arm, name in self._peers.items() if name in reached]
        if not self._videos and not open_to:
            raise ConfigError("There is nothing to show: no video, and no neighbour to ask.")
        everything = len(open_to) == len(self._peers)
        choose = self.home.select if self.learning else self.home.exploit
        choice = choose(context, None if everything else [*self._videos, *open_to])
        video, peer = self._videos.get(choice.arm), self._peers.get(choice.arm)
        visit = Visit(context, choice, video, peer, number=self.visits)
        if self.asks_all:
            visit.asks = tuple(self._peers[arm] for arm in open_to)
        elif peer is not None:
            visit.asks = (peer,)
        if visit.asks and self._forwarder is not None:
            message = self._forwarder.forward(visit.context)
            visit.forward = message.encode()
            if peer is not None:
                visit.request = message.request
                if self._keeps and not self.asks_all and self.learning:
                    self._waiting[peer, visit.request] = visit
        return visit

    def offered(self, visit: Visit, answer: bytes | None) -> str:
        """What to show, once the neighbour has answered, or has not (None): then an own video."""
        peer = visit.peer
        if peer is None:
            raise ConfigError("This visit waits for no neighbour.")
        video = messages.video_of(answer, visit.request)
        known = None if visit.came else self._known.get(peer)
        visit.came = True
        if known is not None and self.learning:
            known.asked(came=video is not None)
        if video is None:
            self._waiting.pop((peer, visit.request), None)
            if not (own := list(self._videos)):
                raise ConfigError("The neighbour has nothing, and there is no own video to show.")
            visit.choice = self.home.settle(visit.context, own, instead=visit.choice)
            video, visit.peer = self._videos[visit.choice.arm], None
        elif visit.choice.phase == "train":  # counts, whatever comes of it
            self._learn(visit, 0.0)
        visit.video = video
        return video

    def clicked(self, visit: Visit, reward: float) -> None:
        """Learn what home saw itself, no matter whose video it was. reward: 0 to 1."""
        if not 0 <= reward <= 1:
            raise DataError("a click is out of range", expected="0 to 1")
        if visit.click is not None:
            return
        visit.click = float(reward)
        if visit.peer is not None and (known := self._known.get(visit.peer)) is not None:
            known.noticed()
            if visit.word is not None:
                known.compared(visit.word, visit.click)
        self._learn(visit, visit.click)

    def rewarded(self, peer: str, data: bytes) -> bool:
        """A neighbour's word, once for each visit it was asked at, after its offer. Whether it
        counts."""
        try:
            message = Reward.decode(data)
        except MessageError:
            return False
        visit, known = self._waiting.get((peer, message.request)), self._known.get(peer)
        if visit is None or known is None or visit.video is None:
            return False
        del self._waiting[peer, message.request]
        visit.word = self._trust.clamped(message.reward / messages.MICRO)
        if visit.click is not None:
            known.compared(visit.word, visit.click)
        elif known.believed:
            self._learn(visit, visit.word)
        return True

    def serve(self, peer: str, data: bytes) -> bytes:
        """The answer to another vendor's Forward: an Offer or a Refusal. Any input is accepted.
        peer: who asks, as the connection has proved."""
        try:
            asked = Forward.decode(data)
        except MessageError:
            return Refusal(bytes(messages.REQUEST_BYTES), "malformed").encode()
        if peer not in self._known:
            return Refusal(asked.request, "unknown").encode()
        before = self._open_guests.get((peer, asked.request))
        if before is not None:
            same = before.asked == data
            return before.answer if same else Refusal(asked.request, "malformed").encode()
        if self._agreement is None or not self._agreement.agrees(asked):
            return Refusal(asked.request, "not agreed").encode()
        if self.forwarded_users is None or not self._videos:
            return Refusal(asked.request, "no video").encode()
        if not self.learning:
            shown = self.forwarded_users.exploit(np.array(asked.context()))
            return Offer(asked.request, self._videos[shown.arm]).encode()
        choice = self.forwarded_users.select(np.array(asked.context()))
        offer = Offer(asked.request, self._videos[choice.arm]).encode()
        self._open_guests[peer, asked.request] = _Guest(data, offer, choice)
        if len(self._open_guests) > self._keeps:
            self._open_guests.popitem(last=False)
        return offer

    def unlearned(self, context: NDArray[np.float64]) -> str:
        """The own video that a forwarded user would see, for a user's visit of which nothing is
        learned."""
        if self.forwarded_users is None:
            raise ConfigError("A vendor without a policy for forwarded users has none for this.")
        return self._videos[self.forwarded_users.select(context).arm]

    def guest_clicked(self, peer: str, request: bytes, reward: float) -> bytes | None:
        """The Reward to send for a guest, 0 or 1; the same bytes each time. None without one."""
        guest = self._open_guests.get((peer, request))
        if guest is None or not hasattr(self.forwarded_users, "answer"):
            return None
        if guest.reward is None:
            guest.reward = Reward.of(
                request, self.forwarded_users.answer(guest.choice, reward)
            ).encode()
        return guest.reward

    def add_video(self, name: str) -> None:
        if name in self._videos.values():
            raise ConfigError(f"There is a video {name!r} already.")
        if self.forwarded_users is not None and not isinstance(self.forwarded_users, Host):
            raise ConfigError("No video joins where forwarded users have a learner of their own.")
        self._videos[self.home.add_arm()] = name

    def remove_video(self, name: str) -> None:
        arm = _arm_of(self._videos, name, "video")
        self.home.remove_arm(arm)
        del self._videos[arm]

    def add_peer(self, peer: str) -> None:
        """A new neighbour, of which nothing is known yet."""
        if peer in self._known:
            raise ConfigError(f"There is a neighbour {peer!r} already.")
        if self._forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        self._peers[self.home.add_arm(neighbour=True)] = peer
        self._known[peer] = Peer(self._trust, self._noise_epsilon)

    def remove_peer(self, peer: str) -> None:
        """It is neither asked nor served from now on."""
        arm = _arm_of(self._peers, peer, "neighbour")
        self.home.remove_arm(arm)
        del self._peers[arm], self._known[peer]

    @property
    def _noise_epsilon(self) -> float:
        """Where the learner promises nothing, trust is by sums without noise."""
        return self._trust.epsilon if math.isfinite(self.home.epsilon) else math.inf

    def _pass_time(self) -> None:
        """What follows from the number of visits alone, and from what is released because of it."""
        while self._waiting:  # by their age: how many others wait would tell of these
            oldest = next(iter(self._waiting))
            if self._waiting[oldest].number > self.visits - self._keeps:
                break
            del self._waiting[oldest]
        if self.visits % self._trust.epoch or not self._trust.looks:
            return
        for name, known in self._known.items():
            if known.ended(self.visits):  # its arm starts anew, without what it said
                arm = _arm_of(self._peers, name, "neighbour")
                self._peers[self.home.add_arm(neighbour=True)] = name
                self.home.remove_arm(arm)
                del self._peers[arm]

    def _learn(self, visit: Visit, reward: float) -> None:
        here = visit.choice.arm in self._videos or visit.choice.arm in self._peers
        if here and self.learning and not visit.learned:
            visit.learned = True
            self.home.update(visit.choice, reward)


def _arm_of(names: Mapping[int, str], name: str, what: str) -> int:
    for arm, known in names.items():
        if known == name:
            return arm
    raise ConfigError(f"There is no {what} {name!r}: it never joined, or has left.")
