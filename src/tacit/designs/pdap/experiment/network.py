"""The vendors of an experiment, one policy at a time: what each learns with and what it forwards.

policy            forwards                    rewards from neighbours           epsilon is
cap               nothing: one learner has    its own                           none
                  all videos and visitors
solo              nothing: each vendor has    its own                           none
                  its own videos alone
dup, dap          contexts in the clear       as they are                       none
p-dap, gp-dap     contexts in the clear       by LaP-DAP                        claimed, and refuted
sound-context     a request without context   seen by the visitor's own device  draw and report
sound-joint       a randomised cell, to all   seen by home itself               sums; and as much
                  neighbours at each visit                                      again for the cell
uniform           a request without context   none                              nothing is learned
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.forwarding import CLEAR, Agreement, Forwarder, Host
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.local_learner import LocalLearner, LocalSetting
from tacit.designs.pdap.policies.cap import Cap
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.policies.dup import Dup
from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers
from tacit.designs.pdap.policies.gp_dap import GPDap
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.policies.uniform import Uniform
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError
from tacit.randomness import Source

PUBLISHED = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
SOUND = ("sound-context", "sound-joint")
NAMES = (*PUBLISHED, *SOUND, "uniform")
WITH_EPSILON = ("p-dap", "gp-dap", *SOUND)
_SENT_SLICES = 2
"""Slices per feature of a randomised cell: with more answers they are less accurate."""


class Network:
    """Vendors that reach one another by encoded bytes alone.

    Attributes:
        vendors: by name.
        seen: whether home sees clicks on a neighbour's video; else, as in the paper, the neighbour
            gets them and reports.
        spent: epsilon of one visit; inf where nothing holds.
    """

    def __init__(
        self, vendors: Mapping[str, Vendor], *, seen: bool, spent: float = math.inf
    ) -> None:
        self.vendors, self.seen, self.spent = dict(vendors), seen, spent

    def visit(
        self, home: str, context: NDArray[np.float64], click: Callable[[str], float]
    ) -> Visit:
        """Serve one visit, end to end, and learn from it if vendors are learning.

        Args:
            home: the vendor whose user comes.
            context: (d,) in [0, 1].
            click: tells of a video whether it is clicked, 0 or 1.
        """
        vendor = self.vendors[home]
        visit = vendor.choose(context)
        answers = {peer: self.offer(home, peer, visit.forward or b"") for peer in visit.asks}
        if visit.peer is not None:
            vendor.receive_offer(visit, answers[visit.peer])
        assert visit.video is not None
        reward = click(visit.video)
        if vendor.learning:
            self._report_click(home, visit, reward)
        return visit

    def set_learning(self, learning: bool) -> None:
        """Let all vendors learn and explore, or only show what they have learned so far."""
        for vendor in self.vendors.values():
            vendor.learning = learning

    def _report_click(self, home: str, visit: Visit, reward: float) -> None:
        if self.seen or visit.peer is None:
            self.vendors[home].observe_click(visit, reward)
        else:
            self.report(home, visit, reward)

    def offer(self, home: str, peer: str, forward: bytes) -> bytes | None:
        """Let `peer` answer a request of `home`; None for no answer."""
        return self.vendors[peer].serve(home, forward)

    def report(self, home: str, visit: Visit, reward: float) -> None:
        """The neighbour whose offer was shown reports to `home` what came of it."""
        peer = visit.peer or ""
        data = self.vendors[peer].observe_guest_click(home, visit.request, reward)
        if data is not None:
            self.vendors[home].receive_reward(peer, data)


def make(name: str, epsilon: float, world: World, sources: Sequence[Source]) -> Network:
    """One vendor with this policy for each source; those of "cap" share one learner."""
    if name not in NAMES:
        raise ConfigError(f"There is no policy {name!r}; there are {', '.join(NAMES)}.")
    vendors, spent = [], math.inf
    if name == "cap":
        shared = Cap(world.pooled_setting)
        every: list[str] = []
        for number in range(world.vendors):
            every += world.videos_of(number)
        vendors = [Vendor(shared, every) for _ in sources]
    elif name in PUBLISHED:
        vendors = [_make_published_vendor(name, epsilon, world, *one) for one in enumerate(sources)]
    else:
        for number, source in enumerate(sources):
            vendor, spent = _make_hosting_vendor(name, epsilon, world, number, source)
            vendors.append(vendor)
    named = dict(zip(world.names, vendors, strict=True))
    return Network(named, seen=name not in PUBLISHED, spent=spent)


def _make_published_vendor(
    name: str, epsilon: float, world: World, vendor: int, source: Source
) -> Vendor:
    setting, videos = world.setting, world.videos_of(vendor)
    if name == "solo":
        return Vendor(Cap(setting), videos)
    home: Dap
    if name in ("dup", "dap"):
        home = Dup(setting) if name == "dup" else Dap(setting)
        forwarded_users = ForwardedUsers(setting, epsilon=math.inf, uniform=name == "dup")
    else:
        kind = GPDap if name == "gp-dap" else PDap
        gamma = world.gamma_at(epsilon)
        home = kind(setting, epsilon=epsilon, randomness=source, gamma=gamma)
        forwarded_users = ForwardedUsers(
            setting,
            epsilon=epsilon,
            reading=world.noise_reading_of_theory,
            geometric=name == "gp-dap",
        )
    return Vendor(
        home,
        videos,
        forwarded_users=forwarded_users,
        peers=_names_of_others(world, vendor),
        forwarder=Forwarder(Agreement(world.dimensions, CLEAR, math.inf), randomness=source),
        # The paper believes every word.
        trust_settings=TrustSettings(low=-1e9, high=1e9, share=1.0, failures=NEVER),
    )


def _make_hosting_vendor(
    name: str, epsilon: float, world: World, vendor: int, source: Source
) -> tuple[Vendor, float]:
    """Make a vendor with a sound policy or with "uniform".

    Among vendors, only the visitor's own sees a click. Requests that hold a context go to all
    neighbours, at every visit.

    Args:
        name: of the policy: one of `SOUND`, or "uniform".
        epsilon: nats of what is learned from one visit and, with "sound-joint", as many again of
            its forwarded context.
        world: the videos, visitors and numbers of the experiment.
        vendor: its number, from 0.
        source: of its randomness.

    Returns:
        The vendor, and the nats that one visit costs in all, at most.
    """
    features, learning = 0, 0.0
    home: JointLearner | LocalLearner | Uniform
    if name == "uniform":
        home = Uniform(world.videos, world.vendors - 1, randomness=source)
    elif name == "sound-context":
        home = LocalLearner(LocalSetting(**world.sizes, epsilon=epsilon), randomness=source)
        learning = home.visit_epsilon
    else:
        features = world.dimensions if world.vendors > 1 else 0  # a vendor alone forwards nothing
        setting = JointSetting(**world.sizes, horizon=max(2, world.arrivals), epsilon=epsilon)
        home = JointLearner(setting, randomness=source)
        learning = PureAccountant().add(home.event).epsilon()
    slices = CLEAR if math.isinf(epsilon) else _SENT_SLICES
    forwarder = Forwarder(Agreement(features, slices, epsilon), randomness=source)
    made = Vendor(
        home,
        world.videos_of(vendor),
        forwarded_users=Host(home),
        peers=_names_of_others(world, vendor),
        forwarder=forwarder,
        # No neighbour reports rewards.
        trust_settings=TrustSettings(uses_reports=False, share=1.0, failures=NEVER),
        asks_all=features > 0,
    )
    return made, learning + forwarder.visit_epsilon + made.caution_epsilon


def _names_of_others(world: World, vendor: int) -> tuple[str, ...]:
    return world.names[:vendor] + world.names[vendor + 1 :]
