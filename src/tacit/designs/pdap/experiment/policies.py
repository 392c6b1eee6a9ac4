"""The vendors of an experiment, one policy at a time: what each learns with and what it forwards.

policy            forwards                    rewards from neighbours           epsilon is
cap               nothing: one learner has    its own                           none
                  all videos and visitors
solo              nothing: each vendor has    its own                           none
                  its own videos alone
dup, dap          contexts in the clear       as they are                       none
p-dap, gp-dap     contexts in the clear       by LaP-DAP                        claimed, and refuted
sound-context     nothing but that they come  seen by the visitor's own device  draw and report
sound-joint,      a randomised cell, to all   seen by home itself               of sums and of the
private-linucb    neighbours at each visit                                      cell, each
uniform           nothing but that they come  none                              nothing is learned

Vendors that reach one another: carries encoded bytes between them, and nothing else.

Home sees a click on a neighbour's video itself with the chance `seen`: it is shown on its own page
always (1), now and then (a sample of users tells it), or never (0, as the paper has it).

A neighbour gets the clicks on its videos, and reports on them, unless `reported` is False or
home asks all neighbours: then a visitor tells nobody but home.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap.control import Setting
from tacit.designs.pdap.forwarding import CLEAR, Agreement, Forwarder, Host
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.local import Context, ContextSetting
from tacit.designs.pdap.messages import LARGEST
from tacit.designs.pdap.policy import Uniform
from tacit.designs.pdap.published import Cap, Dap, Dup, ForwardedUsers, GPDap, PDap
from tacit.designs.pdap.published import guests as dup_guests
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError
from tacit.randomness import Source, integers_below
from tacit.recommenders.baselines.linucb import LinUCB

PUBLISHED = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
SOUND = ("sound-context", "sound-joint", "private-linucb")
NAMES = (*PUBLISHED, *SOUND, "uniform")
WITH_EPSILON = ("p-dap", "gp-dap", *SOUND)
_TOLD = 2
"""Slices per feature of a randomised cell: with more answers they are less accurate."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What all policies of an experiment share.

    published: the vendor's `Setting` fields that the paper leaves open, such as split_after;
    private: those of `PDap`, such as gamma.
    """

    vendors: int
    videos: int
    dimension: int
    arrivals: int
    delta: float = 1e-6
    published: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"vendor {number}" for number in range(self.vendors))

    def others(self, vendor: int) -> tuple[str, ...]:
        return self.names[:vendor] + self.names[vendor + 1 :]

    def videos_of(self, vendor: int) -> tuple[str, ...]:
        return tuple(str(vendor * self.videos + number) for number in range(self.videos))

    @property
    def setting(self) -> Setting:
        return Setting(**self.sizes, horizon=max(2, self.arrivals), **self.published)

    @property
    def sizes(self) -> dict[str, Any]:
        """Of one vendor's learner."""
        neighbours = self.vendors - 1
        return {"videos": self.videos, "neighbours": neighbours, "dimension": self.dimension}

    @property
    def centralised(self) -> Setting:
        """Of one learner for all vendors."""
        sizes = self.sizes | {"videos": self.vendors * self.videos, "neighbours": 0}
        return Setting(**sizes, horizon=max(2, self.vendors * self.arrivals), **self.published)


@dataclass(frozen=True)
class Made:
    """A vendor, and what one visit of its users costs: inf where nothing holds."""

    vendor: Vendor
    spent: float
    seen: float = 0.0
    """The chance that home learns of a click on a neighbour's video without a report by it."""
    reported: bool = True
    """Whether neighbours learn of clicks on their videos; else a visitor tells home alone."""


def make(name: str, epsilon: float, world: World, sources: Sequence[Source]) -> list[Made]:
    """All vendors with this policy, one for each source. epsilon: of policies without one, ignored.

    Those of "cap" share one learner, which has all their videos.
    """
    if name not in NAMES:
        raise ConfigError(f"There is no policy {name!r}; there are {', '.join(NAMES)}.")
    if name == "cap":
        home = Cap(world.centralised)
        every = [video for vendor in range(world.vendors) for video in world.videos_of(vendor)]
        return [Made(Vendor(home, every), math.inf) for _ in sources]
    return [_one(name, epsilon, world, vendor, source) for vendor, source in enumerate(sources)]


def _one(name: str, epsilon: float, world: World, vendor: int, source: Source) -> Made:
    if name in PUBLISHED:
        return _published(name, epsilon, world, vendor, source)
    if name == "uniform":
        uniform = Uniform(world.videos, world.vendors - 1, randomness=source)
        return _hosting(uniform, world, vendor, source, epsilon)
    if name == "sound-context":
        context = Context(ContextSetting(**world.sizes, epsilon=epsilon), randomness=source)
        made = _hosting(context, world, vendor, source, epsilon)
        return replace(made, spent=context.visit_epsilon)
    return _joint(name, epsilon, world, vendor, source)


def _published(name: str, epsilon: float, world: World, vendor: int, source: Source) -> Made:
    setting = world.setting
    videos = world.videos_of(vendor)
    if name == "solo":
        return Made(Vendor(Cap(setting), videos), math.inf)
    home: Any
    guests: ForwardedUsers
    if name == "dup":
        home, guests = Dup(setting), dup_guests(setting)
    elif name == "dap":
        home, guests = Dap(setting), ForwardedUsers(setting, epsilon=math.inf)
    else:
        kind = GPDap if name == "gp-dap" else PDap
        home = kind(setting, epsilon=epsilon, randomness=source, **world.private)
        guests = ForwardedUsers(setting, epsilon=epsilon, geometric=name == "gp-dap")
    forwarder = Forwarder(Agreement(world.dimension, CLEAR, math.inf), randomness=source)
    unlimited = TrustSettings(low=-1e9, high=1e9, share=1.0)  # the paper believes every word
    asks: dict[str, Any] = {"peers": world.others(vendor), "forwarder": forwarder}
    return Made(Vendor(home, videos, guests=guests, caution=unlimited, **asks), math.inf)


def _joint(name: str, epsilon: float, world: World, vendor: int, source: Source) -> Made:
    shared = world.sizes | {"horizon": max(2, world.arrivals), "epsilon": epsilon}
    if name == "sound-joint":
        home: Joint | LinUCB = Joint(JointSetting(**shared), randomness=source)
        learning = math.inf if math.isinf(epsilon) else PureAccountant().add(home.event).epsilon()
    else:
        home, learning = LinUCB(**shared, delta=world.delta), epsilon
    features = world.dimension if world.vendors > 1 else 0  # a vendor alone forwards nothing
    made = _hosting(home, world, vendor, source, epsilon, features=features)
    return replace(made, spent=learning + made.spent)


def _hosting(
    home: Joint | LinUCB | Context | Uniform,
    world: World,
    vendor: int,
    source: Source,
    epsilon: float,
    *,
    features: int = 0,
) -> Made:
    """Only the own vendor sees clicks. Requests that tell of contexts go to all, at every visit."""
    slices = CLEAR if math.isinf(epsilon) else _TOLD
    forwarder = Forwarder(Agreement(features, slices, epsilon), randomness=source)
    caution = TrustSettings(believed=False, share=1.0, failures=NEVER)  # no words to believe
    guest = Host(home, epsilon=epsilon, randomness=source)
    made = Vendor(
        home,
        world.videos_of(vendor),
        guests=guest,
        peers=world.others(vendor),
        forwarder=forwarder,
        caution=caution,
        asks_all=features > 0,
    )
    return Made(made, forwarder.visit_epsilon + made.caution_epsilon, seen=1.0, reported=False)


_PARTS = 1 << 20
Lie = Callable[[bytes], bytes | None]
"""What becomes of a message on its way: other bytes, or None for nothing at all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a visitor got. vendor: who served it. reward: None if nobody knows what came of it."""

    vendor: str
    video: str
    reward: float | None


class Network:
    """offers, rewards: what becomes of a vendor's messages, by its name; left out: nothing."""

    def __init__(
        self,
        vendors: Mapping[str, Vendor],
        *,
        seen: float = 0.0,
        reported: bool = True,
        randomness: Source,
        offers: Mapping[str, Lie] | None = None,
        rewards: Mapping[str, Lie] | None = None,
    ) -> None:
        if not 0 <= seen <= 1:
            raise ConfigError(f"seen is a chance from 0 to 1; got {seen}.")
        self.vendors = dict(vendors)
        self._seen, self._reports = round(seen * _PARTS), reported
        self._source = randomness
        self._offers, self._rewards = dict(offers or {}), dict(rewards or {})

    def visit(
        self, home: str, context: NDArray[np.float64], click: Callable[[str, str], float | None]
    ) -> Shown:
        """One visit, end to end. click: vendor and video -> 0, 1, or None if it is not known."""
        vendor = self.vendors[home]
        visit = vendor.choose(context)
        answers = {name: self._ask(home, name, visit.forward) for name in visit.asks}
        if visit.peer is None:
            assert visit.video is not None
            return self._own(home, visit, visit.video, click)
        peer = visit.peer
        video = vendor.offered(visit, answers[peer])
        if not visit.waits():  # it had nothing
            return self._own(home, visit, video, click)
        reward = click(peer, video)
        if reward is not None:
            if self._sees():
                vendor.clicked(visit, reward)
            if self._reports and not vendor.asks_all:
                self._report(home, peer, visit.request, reward)
        return Shown(peer, video, reward)

    def _own(
        self, home: str, visit: Visit, video: str, click: Callable[[str, str], float | None]
    ) -> Shown:
        reward = click(home, video)
        if reward is not None:
            self.vendors[home].clicked(visit, reward)
        return Shown(home, video, reward)

    def _ask(self, home: str, peer: str, forward: bytes | None) -> bytes | None:
        asked = self.vendors.get(peer)
        if asked is None or forward is None:
            return None
        return _arrived(self._offers.get(peer), asked.serve(home, forward))

    def _report(self, home: str, peer: str, request: bytes, reward: float) -> None:
        sent = self.vendors[peer].guest_clicked(home, request, reward)
        data = None if sent is None else _arrived(self._rewards.get(peer), sent)
        if data is not None:
            self.vendors[home].rewarded(peer, data)

    def _sees(self) -> bool:
        if self._seen in (0, _PARTS):
            return self._seen > 0
        return bool(integers_below(self._source, _PARTS, 1)[0] < self._seen)


def _arrived(lie: Lie | None, data: bytes) -> bytes | None:
    """What is longer than any message is not read to its end."""
    found = data if lie is None else lie(data)
    return None if found is None or len(found) > LARGEST else found
