"""The vendors of an experiment: what each policy forwards and learns from.

policy            forwards                    rewards of neighbours' videos     epsilon covers
cap               nothing: one learner has    none                              nothing
                  all videos and visitors
solo              nothing: each vendor has    none                              nothing
                  its own videos alone
dup, dap          contexts in the clear       reported without noise            nothing
p-dap, gp-dap     contexts in the clear       reported by LaP-DAP               nothing: the claim
                                                                                is refuted
sound-context     a request without context   seen by the visitor's device      draw and report
sound-joint       a randomised cell, to all   seen by the own vendor            the sums; the cell
                  neighbours at each visit                                      costs as much again
uniform           a request without context   not used                          all: nothing is
                                                                                learned

The own vendor of a visitor is the vendor that they visit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import PureAccountant
from tacit.designs.pdap.experiment.policy_names import NAMES, PUBLISHED
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.forwarding import CLEAR_SLICES, Agreement, Forwarder, Host
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

_SENT_SLICES = 2
"""Slices per feature of a randomised cell; few, because randomised response over more cells is
less accurate."""
_ANY_REWARD = 1e9
"""Bound of rewards that no report exceeds."""


class Network:
    """Vendors that exchange encoded messages and nothing else; under cap they share one learner.

    Attributes:
        vendors: the vendors by name.
        own_vendor_sees_clicks: whether the visitor's own vendor sees clicks on a neighbour's
            video. If not, as in the paper, the neighbour sees them and reports rewards.
        visit_epsilon: nats that one visit provably costs at most; inf if nothing is proved.
    """

    def __init__(
        self,
        vendors: Mapping[str, Vendor],
        *,
        own_vendor_sees_clicks: bool,
        visit_epsilon: float = math.inf,
    ) -> None:
        self.vendors = dict(vendors)
        self.own_vendor_sees_clicks = own_vendor_sees_clicks
        self.visit_epsilon = visit_epsilon

    def visit(
        self, own_vendor: str, context: NDArray[np.float64], click: Callable[[str], float]
    ) -> Visit:
        """Serve one visit from end to end, and learn from it if vendors are learning.

        Args:
            own_vendor: name of the vendor that the user visits.
            context: (d,) in [0, 1].
            click: returns the reward of the video with a given name, 0 or 1.

        Returns:
            The visit, with the video that was shown.
        """
        vendor = self.vendors[own_vendor]
        visit = vendor.choose(context)
        answers: dict[str, bytes | None] = {}
        for peer in visit.peers_to_ask:
            assert visit.forward is not None
            answers[peer] = self.offer(own_vendor, peer, visit.forward)
        if visit.peer is not None:
            vendor.receive_offer(visit, answers[visit.peer])
        assert visit.video is not None
        reward = click(visit.video)
        if vendor.learning:
            self._deliver_click(own_vendor, visit, reward)
        return visit

    def set_learning(self, learning: bool) -> None:
        """Let all vendors explore and learn; if not `learning`, only show what they learned."""
        for vendor in self.vendors.values():
            vendor.learning = learning

    def _deliver_click(self, own_vendor: str, visit: Visit, reward: float) -> None:
        """Give the reward to the own vendor, or to the neighbour that sees it and reports it."""
        if self.own_vendor_sees_clicks or visit.peer is None:
            self.vendors[own_vendor].observe_click(visit, reward)
        else:
            self.report(own_vendor, visit, reward)

    def offer(self, own_vendor: str, peer: str, forward: bytes) -> bytes | None:
        """Let `peer` answer the encoded Forward of `own_vendor`; None if no answer comes."""
        return self.vendors[peer].serve(own_vendor, forward)

    def report(self, own_vendor: str, visit: Visit, reward: float) -> None:
        """Let the neighbour whose offer was shown report the reward to `own_vendor`."""
        peer = visit.peer
        assert peer is not None
        data = self.vendors[peer].observe_guest_click(own_vendor, visit.request, reward)
        if data is not None:
            self.vendors[own_vendor].receive_reward(peer, data)


def make_network(name: str, epsilon: float, world: World, sources: Sequence[Source]) -> Network:
    """Make all vendors of a world with one policy.

    Args:
        name: name of the policy, one of NAMES.
        epsilon: nats of one visit; ignored by a policy without an epsilon.
        world: the settings of the experiment.
        sources: randomness of each vendor, in the order of `world.vendor_names`.

    Raises:
        ConfigError: There is no policy of this name.
    """
    if name not in NAMES:
        raise ConfigError(f"There is no policy {name!r}; there are {', '.join(NAMES)}.")
    vendors: list[Vendor] = []
    visit_epsilon = math.inf
    if name == "cap":
        shared_learner = Cap(world.pooled_setting)
        videos_of_all: list[str] = []
        for number in range(world.vendors):
            videos_of_all += world.videos_of(number)
        vendors = [Vendor(shared_learner, videos_of_all) for _ in sources]
    elif name in PUBLISHED:
        for number, source in enumerate(sources):
            vendors.append(_make_published_vendor(name, epsilon, world, number, source))
    else:
        for number, source in enumerate(sources):
            # The epsilon of a visit is the same at all vendors.
            vendor, visit_epsilon = _make_hosting_vendor(name, epsilon, world, number, source)
            vendors.append(vendor)
    return Network(
        dict(zip(world.vendor_names, vendors, strict=True)),
        own_vendor_sees_clicks=name not in PUBLISHED,
        visit_epsilon=visit_epsilon,
    )


def _make_published_vendor(
    name: str, epsilon: float, world: World, vendor: int, source: Source
) -> Vendor:
    """Make a vendor with a published policy other than "cap".

    Args:
        name: name of the policy, one of `policy_names.PUBLISHED`.
        epsilon: what "p-dap" and "gp-dap" claim for one visit; ignored by the other policies.
        world: the settings of the experiment.
        vendor: number of the vendor, from 0.
        source: the source of the vendor's randomness.
    """
    setting = world.setting
    videos = world.videos_of(vendor)
    if name == "solo":
        return Vendor(Cap(setting), videos)
    policy: Dap
    if name == "dup":
        policy = Dup(setting)
        forwarded_users = ForwardedUsers(setting, epsilon=math.inf, uniform=True)
    elif name == "dap":
        policy = Dap(setting)
        forwarded_users = ForwardedUsers(setting, epsilon=math.inf)
    else:
        policy_class = GPDap if name == "gp-dap" else PDap
        gamma = world.gamma_at(epsilon)
        policy = policy_class(setting, epsilon=epsilon, randomness=source, gamma=gamma)
        forwarded_users = ForwardedUsers(
            setting,
            epsilon=epsilon,
            reading=world.noise_reading_of_theory,
            geometric=name == "gp-dap",
        )
    return Vendor(
        policy,
        videos,
        forwarded_users=forwarded_users,
        peers=_names_of_others(world, vendor),
        forwarder=Forwarder(Agreement(world.dimensions, CLEAR_SLICES, math.inf), randomness=source),
        # In the paper, vendors trust all reports.
        trust_settings=TrustSettings(low=-_ANY_REWARD, high=_ANY_REWARD, share=1.0, failures=NEVER),
    )


def _make_hosting_vendor(
    name: str, epsilon: float, world: World, vendor: int, source: Source
) -> tuple[Vendor, float]:
    """Make a vendor that also serves forwarded users, with a sound policy or with "uniform".

    Among vendors, only the visitor's own vendor sees a click. If requests have a context, every
    visit sends one to all neighbours.

    Args:
        name: name of the policy: one of `policy_names.SOUND`, or "uniform".
        epsilon: nats of what is learned from one visit. With "sound-joint", the forwarded context
            costs as many again.
        world: the settings of the experiment.
        vendor: number of the vendor, from 0.
        source: the source of the vendor's randomness.

    Returns:
        The vendor, and the nats that one visit costs in all, at most.
    """
    sent_features = 0
    learning_epsilon = 0.0
    policy: JointLearner | LocalLearner | Uniform
    if name == "uniform":
        policy = Uniform(world.videos, world.vendors - 1, randomness=source)
    elif name == "sound-context":
        policy = LocalLearner(LocalSetting(**world.sizes, epsilon=epsilon), randomness=source)
        learning_epsilon = policy.visit_epsilon
    else:
        if world.vendors > 1:
            sent_features = world.dimensions
        setting = JointSetting(**world.sizes, horizon=max(2, world.arrivals), epsilon=epsilon)
        policy = JointLearner(setting, randomness=source)
        learning_epsilon = PureAccountant().add(policy.event).epsilon()
    slices = CLEAR_SLICES if math.isinf(epsilon) else _SENT_SLICES
    forwarder = Forwarder(Agreement(sent_features, slices, epsilon), randomness=source)
    hosting_vendor = Vendor(
        policy,
        world.videos_of(vendor),
        forwarded_users=Host(policy),
        peers=_names_of_others(world, vendor),
        forwarder=forwarder,
        # No neighbour reports rewards.
        trust_settings=TrustSettings(uses_reports=False, share=1.0, failures=NEVER),
        asks_all=sent_features > 0,
    )
    visit_epsilon = learning_epsilon + forwarder.visit_epsilon + hosting_vendor.caution_epsilon
    return hosting_vendor, visit_epsilon


def _names_of_others(world: World, vendor: int) -> tuple[str, ...]:
    """Return the names of all vendors but the one with this number."""
    return world.vendor_names[:vendor] + world.vendor_names[vendor + 1 :]
