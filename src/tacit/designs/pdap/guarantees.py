"""Cards of the sound learners, of what crosses between vendors, and what is learned about them."""

from __future__ import annotations

import math
from typing import Any

from tacit.accounting import PureAccountant
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointSetting
from tacit.designs.pdap.local import Context
from tacit.designs.pdap.published_guarantees import without_noise as without_noise
from tacit.designs.pdap.trust import TrustSettings, release_for
from tacit.errors import ConfigError
from tacit.mechanisms.randomized_response import BitRelease
from tacit.mechanisms.samplers import check_epsilon
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.randomness import secure

_VISIT = Adjacency("visit", "add or remove")
_CONTEXT = Adjacency("visit", "replace")
_JOINT = (
    "Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), for joint privacy",
    "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
)
_DISCRETE = "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the sampler"
_NOT_JOINT = (
    "a user's own video, towards anyone who sees it: it depends on the user's own context",
    "the user's own vendor, which sees contexts and rewards, and a neighbour that gets a request",
    "that a visit took place, and when: arrivals are counted in public",
    "what a vendor learns about its neighbours: that costs extra and has its own card",
)
_BEYOND = "one visit of a person beyond their limit: it lets another of their visits in"


def _proved(*, trust: Trust = Trust.OWN_VENDOR, **card: Any) -> Guarantee:
    return Guarantee(trust=trust, basis=Basis.PROVED, delta=0.0, **card)


def _of_person(visits: int | None, epsilon: float) -> dict[str, Any]:
    """What so many visits cost together; nothing to say where nothing limits them."""
    if visits is None:
        return {}
    return {"lifetime_epsilon": visits * epsilon, "lifetime_delta": 0.0}


def joint(setting: JointSetting, *, visits_per_person: int | None = None) -> Guarantee:
    """visits_per_person: how many are learned at most; None: nothing limits them."""
    if math.isinf(setting.epsilon):
        return without_noise("sound-joint")
    epsilon = PureAccountant().add(setting.noise.event).epsilon()
    return _proved(
        name="Sound joint privacy: noisy sums per cell and arm",
        sentence=(
            f"What all others are shown is {epsilon:g}-differentially private for each "
            "visit: for its context, the arm and the reward together."
        ),
        protects="one visit: its context, the arm that was shown, and the reward",
        adjacency=_VISIT,
        against=(
            "everyone else together, with all they are ever shown and every table that is "
            "released; a visit replaced by another costs twice as much"
        ),
        epsilon=epsilon,
        lifetime=_lifetime(setting, visits_per_person, epsilon),
        **_of_person(visits_per_person, epsilon),
        assumptions=(
            "the grid, the horizon and the ends of epochs are fixed beforehand",
            "each visit enters one release of one pair of sums, with Laplace noise",
            "which arms can be shown at a visit is public",
            "when arms join or leave is public",
            "every choice is made from the visitor's own context and from released sums",
            "a reward enters within its public range; one from a neighbour is noised again",
        ),
        not_covered=(
            *_NOT_JOINT,
            "a person with several visits, beyond what `lifetime` says",
            *(() if visits_per_person is None else (_BEYOND,)),
            "what the neighbour itself learns of a forwarded visit: the sound one learns nothing",
        ),
        sources=(*_JOINT, _DISCRETE),
    )


def answer(epsilon: float) -> Guarantee:
    """What a vendor sends back about a forwarded user's reward."""
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        return without_noise("host")
    exact = PureAccountant().add(BitRelease(epsilon).event).epsilon()
    return _proved(
        name="Noised reward of a forwarded visit",
        sentence=f"One answer is {exact:g}-differentially private for the reward it is about.",
        protects="one reward that a video of this vendor got",
        adjacency=Adjacency("reward", "replace"),
        against="the vendor that forwarded, with all it was ever sent",
        epsilon=exact,
        lifetime="one answer per forwarded visit; n rewards of one video are n answers",
        assumptions=("the reward is 0 or 1, and is sent by randomised response from the first on",),
        not_covered=(
            "the video itself, which is shown to the forwarded user",
            "how popular a video is: that takes many answers, and their costs add up",
            "the context of the user who was forwarded, which this vendor sees",
        ),
        sources=("Warner: Randomized response (JASA 1965)",),
    )


def context(policy: Context, *, lifetime_epsilon: float | None = None) -> Guarantee:
    """lifetime_epsilon: what a `Device` spends at most; None: nothing limits it."""
    if math.isinf(policy.epsilon):
        return without_noise("sound-context")
    epsilon = PureAccountant().add(policy.event).epsilon()
    if lifetime_epsilon is not None and lifetime_epsilon < epsilon:
        raise ConfigError(f"A lifetime of {lifetime_epsilon:g} does not cover one visit.")
    return _proved(
        name="Sound local privacy of the context",
        sentence=(
            f"All that leaves the device at a visit is {epsilon:g}-differentially private: the "
            "arm asked for, and the report of cell and reward."
        ),
        protects="one visit's context, and whether the visitor liked what was shown",
        adjacency=_CONTEXT,
        against="everyone, the vendor included, with all arms asked for and all reports",
        trust=Trust.NOBODY,
        epsilon=epsilon,
        lifetime=(
            "N visits cost N times as much; nothing limits them"
            if lifetime_epsilon is None
            else "the device stops: from then on arms are uniform and nothing is reported"
        ),
        lifetime_epsilon=lifetime_epsilon,
        lifetime_delta=None if lifetime_epsilon is None else 0.0,
        assumptions=(
            "the device draws the arm itself, from published tables; means are clamped to [0, 1]",
            "the vendor learns from reports alone and never sees the context",
            f"the draw loses exactly {policy.draw_loss:.6g}; the rest is the report's",
        ),
        not_covered=(
            "that a visit took place, when, and from which address",
            "a context sent along with a forwarded request: it is a release of its own",
            "what an observer learns from seeing the user watch the video, apart from the choice",
        ),
        sources=(
            "McSherry, Talwar: Mechanism design via differential privacy (FOCS 2007)",
            "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)",
            "Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016)",
        ),
    )


def _lifetime(setting: JointSetting, visits: int | None, epsilon: float) -> str:
    ends = (
        f"after {setting.horizon} arrivals nothing more is learned"
        if setting.at_horizon == "stop"
        else f"every {setting.horizon} arrivals new sums begin; a visit is in one of them only"
    )
    if visits is None:
        return f"{ends}; a person with N visits pays N times {epsilon:g}"
    return f"{ends}; of one person {visits} visits are learned, and the others are not"


_REQUEST = (
    "that a request was made, when, and to whom: a policy that forwards depending on the "
    "context reveals the true cell"
)
_OF_ALL = (
    "every visit is sent to all neighbours that can be asked; no context decides which those are",
    "only the own vendor shows the video and sees the click: no neighbour learns whose offer won",
)
_OWN_VENDOR = "the user's own vendor, which knows the context"


def forwarded(
    agreement: Agreement, *, visits: int | None = None, asks_all: bool = False
) -> Guarantee:
    """visits: of one person that are forwarded at most; None: nothing limits them.

    asks_all: as the `Vendor`'s. False: the card is for the content of a request alone.
    """
    spent = Forwarder(agreement, randomness=secure()).visit_epsilon
    if math.isinf(spent):
        raise ConfigError("A context in the clear has no card: nothing protects it.")
    return _proved(
        name="Context that is forwarded",
        sentence=(
            f"What all other vendors see together of one visit's context is {spent:g}-"
            "differentially private: each visit sends the same randomised cell to all of them, "
            "whatever is shown."
            if asks_all
            else "Given that a request is made, what all other vendors read in it about the "
            f"visit's context is {spent:g}-differentially private. Whether one is made, when, and "
            "to whom depends on the context itself, and no epsilon covers that."
        ),
        protects="the context of one visit" + ("" if asks_all else ", in the request's content"),
        adjacency=Adjacency("visit", "replace"),
        against="all vendors it is forwarded to, even if they combine all they got",
        epsilon=spent,
        lifetime=(
            f"{visits} visits of one person, then nothing of theirs is forwarded"
            if visits is not None
            else "every visit costs as much again"
        ),
        **_of_person(visits, spent),
        assumptions=(
            "a retry, and another vendor, get the bytes of the first request",
            f"{agreement.slices} slices of {agreement.features} features were agreed on beforehand",
            *(_OF_ALL if asks_all else ()),
        ),
        not_covered=(
            "when the visit was" if asks_all else _REQUEST,
            "the connection: addresses, times, accounts",
            "that a neighbour's video was fetched or clicked, where that neighbour sees it",
            _OWN_VENDOR,
        ),
        sources=("Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)",),
    )


def learned_about_neighbours(
    caution: TrustSettings, *, visits_per_person: int | None = None
) -> Guarantee:
    """For a vendor whose home learner has a card. visits_per_person: None: nothing limits them."""
    if math.isinf(caution.epsilon) or not caution.looks:
        raise ConfigError("TrustSettings without noise, or that looks at nobody, has no card.")
    epsilon = PureAccountant().add(release_for(caution, caution.epsilon).event).epsilon()
    return _proved(
        name="What is learned about neighbours",
        sentence=(
            f"Which neighbours a vendor asks and trusts is {epsilon:g}-differentially private "
            "for each visit, on top of what its learner costs: it follows from public time and "
            f"from noisy sums, one release per neighbour and {caution.epoch} visits."
        ),
        protects="one visit: which neighbour was asked, what it offered and claimed, and the click",
        adjacency=Adjacency("visit", "add or remove"),
        against=(
            "everyone else together, with all noisy sums; a visit replaced by another costs twice "
            "as much"
        ),
        epsilon=epsilon,
        lifetime="a person with N visits pays N times",
        **_of_person(visits_per_person, epsilon),
        assumptions=(
            "which arms were open at a visit, and when neighbours join or leave, is public",
            (
                "a visit counts for the one neighbour whose offer is to be shown; its parts count "
                "once each, in whatever epoch"
            ),
            f"rewards that neighbours state are clamped to {caution.low:g} to {caution.high:g}"
            if caution.believed
            else "what a neighbour states about rewards is not used",
        ),
        not_covered=(
            "how a neighbour uses that it was asked: it may answer others differently",
            "a vendor whose own learner has no guarantee: the same rules then use exact numbers",
        ),
        sources=(
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Ghosh, Roughgarden, Sundararajan (STOC 2009), for noise on integers",
        ),
    )
