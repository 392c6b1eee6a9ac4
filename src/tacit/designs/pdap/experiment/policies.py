"""The vendors of an experiment, one policy at a time: what each learns with and what it forwards.

policy            forwards                    rewards from neighbours           epsilon is
cap               nothing: one learner has    its own                           none
                  all videos and visitors
solo              nothing: each vendor has    its own                           none
                  its own videos alone
dup, dap          contexts in the clear       as they are                       none
p-dap, gp-dap     contexts in the clear       by LaP-DAP                        claimed, and refuted
sound-context     nothing but that they come  seen by the visitor's own device  draw and report
sound-joint       a randomised cell, to all   seen by home itself               of sums and of the
                  neighbours at each visit                                      cell, each
uniform           nothing but that they come  none                              nothing is learned
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap.control import Setting
from tacit.designs.pdap.forwarding import CLEAR, Agreement, Forwarder, Host
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.local import Context, ContextSetting
from tacit.designs.pdap.policy import Uniform
from tacit.designs.pdap.published import Cap, Dap, Dup, ForwardedUsers, GPDap, PDap
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError
from tacit.randomness import Source

PUBLISHED = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
SOUND = ("sound-context", "sound-joint")
NAMES = (*PUBLISHED, *SOUND, "uniform")
WITH_EPSILON = ("p-dap", "gp-dap", *SOUND)
_TOLD = 2
"""Slices per feature of a randomised cell: with more answers they are less accurate."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What all policies of an experiment share.

    lipschitz: of the published ones' `Setting`. gamma: of `PDap`.
    """

    vendors: int
    videos: int
    dimension: int
    arrivals: int
    lipschitz: float = 1.0
    gamma: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"vendor {number}" for number in range(self.vendors))

    def others(self, vendor: int) -> tuple[str, ...]:
        return self.names[:vendor] + self.names[vendor + 1 :]

    def videos_of(self, vendor: int) -> tuple[str, ...]:
        return tuple(str(vendor * self.videos + number) for number in range(self.videos))

    @property
    def sizes(self) -> dict[str, Any]:
        """Of one vendor's learner."""
        neighbours = self.vendors - 1
        return {"videos": self.videos, "neighbours": neighbours, "dimension": self.dimension}

    @property
    def horizon(self) -> int:
        return max(2, self.arrivals)

    @property
    def setting(self) -> Setting:
        """Of one vendor's published policy."""
        return Setting(**self.sizes, horizon=self.horizon, lipschitz=self.lipschitz)


@dataclass(frozen=True)
class Made:
    """A vendor, and what one visit of its users costs: inf where nothing holds.

    seen: whether home sees a click on a neighbour's video itself; else the neighbour reports it.
    """

    vendor: Vendor
    spent: float
    seen: bool = False


def make(name: str, epsilon: float, world: World, sources: Sequence[Source]) -> list[Made]:
    """All vendors with this policy, one for each source. epsilon: of policies without one, ignored.

    Those of "cap" share one learner, which has all their videos.
    """
    if name not in NAMES:
        raise ConfigError(f"There is no policy {name!r}; there are {', '.join(NAMES)}.")
    if name == "cap":
        sizes = world.sizes | {"videos": world.vendors * world.videos, "neighbours": 0}
        horizon = max(2, world.vendors * world.arrivals)
        home = Cap(Setting(**sizes, horizon=horizon, lipschitz=world.lipschitz))
        every = [video for vendor in range(world.vendors) for video in world.videos_of(vendor)]
        return [Made(Vendor(home, every), math.inf) for _ in sources]
    one = _published if name in PUBLISHED else _hosting
    return [one(name, epsilon, world, vendor, source) for vendor, source in enumerate(sources)]


def _published(name: str, epsilon: float, world: World, vendor: int, source: Source) -> Made:
    setting, videos = world.setting, world.videos_of(vendor)
    if name == "solo":
        return Made(Vendor(Cap(setting), videos), math.inf)
    home: Dup | Dap
    geometric = name == "gp-dap"
    if name in ("dup", "dap"):
        home = Dup(setting) if name == "dup" else Dap(setting)
        guests = ForwardedUsers(setting, epsilon=math.inf, equal=name == "dup")
    else:
        kind = GPDap if geometric else PDap
        home = kind(setting, epsilon=epsilon, randomness=source, gamma=world.gamma)
        guests = ForwardedUsers(setting, epsilon=epsilon, geometric=geometric)
    made = Vendor(
        home,
        videos,
        guests=guests,
        peers=world.others(vendor),
        forwarder=Forwarder(Agreement(world.dimension, CLEAR, math.inf), randomness=source),
        # The paper believes every word.
        caution=TrustSettings(low=-1e9, high=1e9, share=1.0, failures=NEVER),
    )
    return Made(made, math.inf)


def _hosting(name: str, epsilon: float, world: World, vendor: int, source: Source) -> Made:
    """Only the own vendor sees clicks. Requests that tell of contexts go to all, at every visit."""
    features, learning = 0, 0.0
    home: Joint | Context | Uniform
    if name == "uniform":
        home = Uniform(world.videos, world.vendors - 1, randomness=source)
    elif name == "sound-context":
        home = Context(ContextSetting(**world.sizes, epsilon=epsilon), randomness=source)
        learning = home.visit_epsilon
    else:
        features = world.dimension if world.vendors > 1 else 0  # a vendor alone forwards nothing
        setting = JointSetting(**world.sizes, horizon=world.horizon, epsilon=epsilon)
        home = Joint(setting, randomness=source)
        learning = math.inf if math.isinf(epsilon) else PureAccountant().add(home.event).epsilon()
    slices = CLEAR if math.isinf(epsilon) else _TOLD
    forwarder = Forwarder(Agreement(features, slices, epsilon), randomness=source)
    made = Vendor(
        home,
        world.videos_of(vendor),
        guests=Host(home),
        peers=world.others(vendor),
        forwarder=forwarder,
        caution=TrustSettings(believed=False, share=1.0, failures=NEVER),  # no words to believe
        asks_all=features > 0,
    )
    return Made(made, learning + forwarder.visit_epsilon + made.caution_epsilon, seen=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a visitor got. vendor: who served it. reward: None if nobody knows what came of it."""

    vendor: str
    video: str
    reward: float | None


class Network:
    """Vendors that reach one another: encoded bytes between them, and nothing else.

    seen: whether home sees clicks on a neighbour's video, which is shown on its own page; else, as
    the paper has it, the neighbour gets them, and reports.
    """

    def __init__(self, vendors: Mapping[str, Vendor], *, seen: bool) -> None:
        self.vendors, self.seen = dict(vendors), seen

    def visit(
        self, home: str, context: NDArray[np.float64], click: Callable[[str], float | None]
    ) -> Shown:
        """One visit, end to end. click: video -> 0, 1, or None if it is not known."""
        vendor = self.vendors[home]
        visit = vendor.choose(context)
        asked = {peer: self.offer(home, peer, visit.forward or b"") for peer in visit.asks}
        video = visit.video
        if visit.peer is not None:
            video = vendor.offered(visit, asked[visit.peer])
        server = visit.peer or home
        assert video is not None
        reward = click(video)
        if reward is not None:
            if self.seen or server == home:
                vendor.clicked(visit, reward)
            else:
                self.report(home, visit, reward)
        return Shown(server, video, reward)

    def offer(self, home: str, peer: str, forward: bytes) -> bytes | None:
        """What `peer` answers to a request of `home`; None for nothing."""
        return self.vendors[peer].serve(home, forward)

    def report(self, home: str, visit: Visit, reward: float) -> None:
        """The neighbour whose offer was shown tells `home` what came of it."""
        peer = visit.peer or ""
        data = self.vendors[peer].guest_clicked(home, visit.request, reward)
        if data is not None:
            self.vendors[home].rewarded(peer, data)
