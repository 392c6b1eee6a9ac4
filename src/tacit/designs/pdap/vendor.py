"""A vendor: a policy for its own users, one for forwarded users, names of videos, other vendors.

A visit   choose() -> offered() if another vendor is to be asked ->
          clicked(), rewarded(), in any order, or never. Bytes in, bytes out: nothing but
          `messages.py` crosses.
A guest   serve() -> guest_clicked(). The same bytes again get the same answer, and count once.
Users     have no record here: a new one needs nothing, and no id is asked for.
Who may   come and go at any time: videos (add_video, remove_video), neighbours (meet, part), and
          for one call the videos that can be shown now.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Hosts, Neighbour, arm_of
from tacit.designs.pdap.messages import MICRO, MessageError, Reward, video_of
from tacit.designs.pdap.policy import Chosen, Learns, Settles
from tacit.designs.pdap.trust import NoisyPeer, Peer, TrustSettings, release_for
from tacit.errors import ConfigError, DataError


@dataclass(eq=False, slots=True)
class Visit:
    """video: what is shown; None while a neighbour is to be asked.

    peer: whose offer will be shown. asks: whom to send `forward`, which is the same for every peer
    and every retry; it holds `peer`.
    """

    context: NDArray[np.float64]
    choice: Chosen
    video: str | None
    peer: str | None = None
    asks: tuple[str, ...] = ()
    forward: bytes | None = None
    request: bytes = b""
    click: float | None = None
    word: float | None = None
    learned: bool = False
    number: int = 0
    """Of all visits here; public."""
    came: bool = False
    """Whether it is known whether an offer came."""
    allowed: frozenset[str] | None = None
    """Own videos that could be shown when it began; None: all."""

    def waits(self) -> bool:
        """Whether a neighbour is asked; no longer so once it turns out to have nothing."""
        return self.peer is not None


class Vendor(Neighbour):
    """home: arms 0 to K - 1 are `videos`, then `peers`. guests: a policy over the same videos.

    forwarder: None never asks anybody. caution: what neighbours' words are worth; of noisy sums if
    `home` is one that `Settles`, and exactly otherwise. agreement: how others' contexts are sent
    here; None: as one's own.
    asks_all: send every visit's forward to all neighbours that can be asked, whatever was chosen;
    then who is asked does not follow from contexts. What home learns of clicks, it sees itself: a
    neighbour that learns of them knows whose offer was shown.
    A `Host` is served by `home` itself and so needs no videos of its own. keeps: guests whose
    answers it remembers, and visits that wait for a word; 0 where the caller does.
    """

    def __init__(
        self,
        home: Learns,
        videos: Sequence[str],
        *,
        guests: Hosts | None = None,
        peers: Sequence[str] = (),
        forwarder: Forwarder | None = None,
        agreement: Agreement | None = None,
        caution: TrustSettings | None = None,
        asks_all: bool = False,
        keeps: int = 10_000,
    ) -> None:
        if len(videos) != home.n_own or len(peers) != home.n_neighbours:
            raise ConfigError(
                f"The policy has {home.n_own} own videos and {home.n_neighbours} neighbours; got "
                f"{len(videos)} and {len(peers)} names."
            )
        if len(set(videos)) < len(videos) or len(set(peers)) < len(peers):
            raise ConfigError("Two videos, or two neighbours, have one name.")
        if peers and forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        agreement = agreement or (None if forwarder is None else forwarder.agreement)
        super().__init__(videos, guests, agreement, keeps=keeps)
        self.home, self.asks_all = home, asks_all
        self._forwarder, self._caution = forwarder, caution or TrustSettings()
        self._videos = dict(enumerate(videos))
        self._peers = dict(enumerate(peers, len(videos)))
        self._known: dict[str, Peer | NoisyPeer] = {peer: self._stranger() for peer in peers}
        self._waiting: OrderedDict[tuple[str, bytes], Visit] = OrderedDict()
        self.visits = 0

    @property
    def videos(self) -> tuple[str, ...]:
        return tuple(self._videos.values())

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(self._peers.values())

    @property
    def arms(self) -> tuple[Mapping[int, str], Mapping[int, str]]:
        """Names of videos, and of neighbours, by the arms that they are at `home`."""
        return MappingProxyType(self._videos), MappingProxyType(self._peers)

    def resume(self, visits: int, videos: Mapping[int, str], peers: Mapping[int, str]) -> None:
        """Go on with these, by the arms that `home` has now; after so many visits.

        Of neighbours nothing is known at first. Visits and guests that waited are forgotten.
        """
        self.visits = visits
        self._videos, self._peers = dict(videos), dict(peers)
        self._guest_videos = dict(videos)
        self._known = {peer: self._stranger() for peer in peers.values()}
        self._waiting.clear()
        self._open_guests.clear()

    @property
    def caution_epsilon(self) -> float:
        """What `caution` costs one visit, present or absent, on top of what `home` charges."""
        if self._forwarder is None or not self._caution.looks:
            return 0.0
        if math.isinf(epsilon := self._noise_epsilon):
            return math.inf
        return PureAccountant().add(release_for(self._caution, epsilon).event).epsilon()

    def known(self, peer: str) -> Peer | NoisyPeer:
        """What is known of a neighbour."""
        if peer not in self._known:
            raise ConfigError(f"There is no neighbour {peer!r}: it never joined, or has left.")
        return self._known[peer]

    def choose(
        self,
        context: NDArray[np.float64],
        *,
        videos: Sequence[str] | None = None,
        peers: Sequence[str] | None = None,
    ) -> Visit:
        """Own video or neighbour, and what is sent if neighbours are to be asked.

        videos, peers: those that can be shown, or asked, now, by name; None: all. Which ones must
        not follow from other visits. Raises DataError as policies do.
        """
        self.visits += 1
        self._pass_time()
        own = list(self._videos) if videos is None else self._among(videos)
        if videos is not None and len(own) < len(set(videos)):
            raise ConfigError("A video that is to be shown is none of this vendor's.")
        reached = set(self._known if peers is None else peers)
        open_to = [
            arm
            for arm, name in self._peers.items()
            if name in reached and self._known[name].open(self.visits)
        ]
        if not own and not open_to:
            raise ConfigError("There is nothing to show: no video, and no neighbour to ask.")
        everything = videos is None and len(open_to) == len(self._peers)
        choice = self.home.select(context, None if everything else own + open_to)
        visit = Visit(context, choice, self._videos.get(choice.arm), number=self.visits)
        visit.allowed = None if videos is None else frozenset(videos)
        visit.peer = self._peers.get(choice.arm)
        if self.asks_all:
            visit.asks = tuple(self._peers[arm] for arm in open_to)
        elif visit.peer is not None:
            visit.asks = (visit.peer,)
        if visit.asks:
            self._ask(visit)
        return visit

    def _ask(self, visit: Visit) -> None:
        """What leaves for neighbours."""
        assert self._forwarder is not None
        message = self._forwarder.forward(visit.context)
        visit.forward = message.encode()
        if visit.peer is None:
            return
        visit.request = message.request
        self._known[visit.peer].asked()
        if self._keeps and not self.asks_all:
            self._waiting[visit.peer, visit.request] = visit

    def offered(self, visit: Visit, answer: bytes | None) -> str:
        """What to show, once the neighbour has answered, or has not (None): then an own video of
        those that `choose` could show and that have not left since."""
        peer = visit.peer
        if peer is None:
            raise ConfigError("This visit waits for no neighbour.")
        video = video_of(answer, visit.request)
        known = None if visit.came else self._known.get(peer)
        visit.came = True
        if video is not None:
            visit.video = video
            if known is not None:
                known.answered()
            if visit.choice.phase == "train":  # counts, whatever comes of it
                self._learn(visit, 0.0)
            return video
        if known is not None:
            known.failed(self.visits)
        self._waiting.pop((peer, visit.request), None)
        self._locally(visit)
        return visit.video or ""

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
                self._compare(visit.peer, known, visit.word, visit.click)
        self._learn(visit, visit.click)

    def rewarded(self, peer: str, data: bytes) -> bool:
        """A neighbour's word, once for each visit it was asked at, after its offer. Whether it was
        of use."""
        try:
            message = Reward.decode(data)
        except MessageError:
            return False
        visit, known = self._waiting.get((peer, message.request)), self._known.get(peer)
        if visit is None or known is None or visit.video is None:
            return False
        del self._waiting[peer, message.request]
        visit.word = self._caution.clamped(message.reward / MICRO)
        if visit.click is not None:
            self._compare(peer, known, visit.word, visit.click)
        elif known.believed:
            self._learn(visit, visit.word)
        return True

    def add_video(self, name: str) -> None:
        """It is tried from the next visit on."""
        if name in self._videos.values():
            raise ConfigError(f"There is a video {name!r} already.")
        arm = self.home.add_arm()
        self._videos[arm] = name
        self._add_guest_video(arm, name)

    def remove_video(self, name: str) -> None:
        arm = arm_of(self._videos, name, "video")
        self.home.remove_arm(arm)
        del self._videos[arm]
        self._remove_guest_video(name)

    def meet(self, peer: str) -> None:
        """A new neighbour, of which nothing is known yet."""
        if peer in self._known:
            raise ConfigError(f"There is a neighbour {peer!r} already.")
        if self._forwarder is None:
            raise ConfigError("Neighbours can be asked with a Forwarder only.")
        self._peers[self.home.add_arm(neighbour=True)] = peer
        self._known[peer] = self._stranger()

    def part(self, peer: str) -> None:
        """It is neither asked nor served from now on."""
        arm = arm_of(self._peers, peer, "neighbour")
        self.home.remove_arm(arm)
        del self._peers[arm], self._known[peer]

    @property
    def _noise_epsilon(self) -> float:
        """The non-private variant has trust settings without noise."""
        claims = isinstance(self.home, Settles) and math.isfinite(self.home.epsilon)
        return self._caution.epsilon if claims else math.inf

    def _stranger(self) -> Peer | NoisyPeer:
        if isinstance(self.home, Settles):
            return NoisyPeer(self._caution, epsilon=self._noise_epsilon)
        return Peer(self._caution)

    def _pass_time(self) -> None:
        """What follows from the number of visits alone, and from what is released because of it."""
        while self._waiting:  # by their age: how many others wait would tell of these
            oldest = next(iter(self._waiting))
            if self._waiting[oldest].number > self.visits - self._keeps:
                break
            del self._waiting[oldest]
        if self.visits % self._caution.epoch or not self._caution.looks:
            return
        for name, known in self._known.items():
            if isinstance(known, NoisyPeer) and known.ended(self.visits):
                self._forget(name)

    def _among(self, allowed: Collection[str]) -> list[int]:
        return [arm for arm, name in self._videos.items() if name in allowed]

    def _locally(self, visit: Visit) -> None:
        """An own video instead. A second choice of the same visit: the first is not learned."""
        own = list(self._videos) if visit.allowed is None else self._among(visit.allowed)
        if not own:
            raise ConfigError("The neighbour has nothing, and there is no own video to show.")
        if isinstance(self.home, Settles):
            visit.choice = self.home.settle(visit.context, own, instead=visit.choice)
        else:
            visit.choice = self.home.select(visit.context, own)
        visit.video, visit.peer = self._videos[visit.choice.arm], None

    def _learn(self, visit: Visit, reward: float) -> None:
        here = visit.choice.arm in self._videos or visit.choice.arm in self._peers
        if here and not visit.learned:
            visit.learned = True
            self.home.update(visit.choice, reward)

    def _compare(self, peer: str, known: Peer | NoisyPeer, word: float, click: float) -> None:
        if click in (0, 1) and known.compared(word, bool(click)):
            self._forget(peer)

    def _forget(self, peer: str) -> None:
        """Its arm starts anew, without what it said."""
        arm = arm_of(self._peers, peer, "neighbour")
        self._peers[self.home.add_arm(neighbour=True)] = peer
        self.home.remove_arm(arm)
        del self._peers[arm]
