"""Cards of the sound learners, of what crosses between vendors, and what is learned about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.accounting import PureAccountant
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointSetting
from tacit.designs.pdap.local_learner import Context, ContextSetting
from tacit.designs.pdap.published_guarantees import without_noise as without_noise
from tacit.designs.pdap.trust import TrustSettings, neighbour_release
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.randomness import secure

_LEARNED = Adjacency("visit", "learn or not learn")
_CONTEXT = Adjacency("visit", "replace")
_KAIROUZ = "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)"


def _prove_card(
    epsilon: float, visits: int | None = None, *, trust: Trust = Trust.OWN_VENDOR, **card: Any
) -> Guarantee:
    """visits: of one person at most, which is what a lifetime costs; None: nothing limits them."""
    if visits is not None:
        card |= {"lifetime_epsilon": visits * epsilon, "lifetime_delta": 0.0}
    return Guarantee(trust=trust, basis=Basis.PROVED, epsilon=epsilon, delta=0.0, **card)


def cards_of_usual_setting(epsilon: float) -> tuple[Guarantee, ...]:
    """All cards at epsilon of one visit, in a usual setting: see `design.CardSettings`."""
    if math.isinf(epsilon):
        return (without_noise("sound-joint"),)
    sizes: dict[str, Any] = {"videos": 20, "neighbours": 3, "dimension": 2, "epsilon": epsilon}
    return (
        joint(JointSetting(**sizes, horizon=200_000)),
        forwarded_context(Agreement(features=2, slices=2, epsilon=epsilon), asks_all=True),
        learned_about_neighbours(TrustSettings(epsilon=epsilon / 10)),
        context(Context(ContextSetting(**sizes), randomness=secure())),
    )


def joint(
    setting: JointSetting, *, visits_per_person: int | None = None, fits: int = 1
) -> Guarantee:
    """Make the card of the sound learner.

    Args:
        setting: of the learner.
        visits_per_person: how many are learned at most; None: nothing limits them.
        fits: how many times a log was learned from the start, each of which may hold the visit.
    """
    if math.isinf(setting.epsilon):
        return without_noise("sound-joint")
    accountant = PureAccountant()
    for _ in range(fits):
        accountant.add(setting.noise.event)
    epsilon = accountant.epsilon()
    together = ""
    if fits > 1:
        together = f" That is {fits} fits together, all of which may have learned the visit."
    lifetime = "a visit is in one release, however long the learner runs"
    limited: tuple[str, ...] = ()
    if visits_per_person is None:
        lifetime += f"; a person with N visits pays N times {epsilon:g}"
    else:
        lifetime += f"; of one person {visits_per_person} visits are learned, the others are not"
        limited = ("one visit of a person beyond their limit: it lets another of their visits in",)
    return _prove_card(
        epsilon,
        visits_per_person,
        name="Sound joint privacy: noisy sums of rewards and features",
        sentence=(
            f"What all others are shown is {epsilon:g}-differentially private for each "
            "visit, learned or not learned: for its context, the arm and the reward together."
            f"{together}"
        ),
        protects="one visit: its context, the arm that was shown, and the reward",
        adjacency=_LEARNED,
        against=(
            "everyone else together, with all they are ever shown and every sum that is "
            "released; a visit replaced by another costs twice as much"
        ),
        lifetime=lifetime,
        assumptions=(
            "features, the expected visits and the lengths of epochs are fixed beforehand",
            "a visit enters one release of one arm's sums, cut to a public bound, with noise",
            "the visit takes place in both cases, at the same number: arrivals are public",
            "a person's budget is charged at arrival, learned or not",
            "which arms can be shown at a visit is public, and never follows from what was learned",
            "when arms join or leave is public",
            "every choice is made from the visitor's own context, released sums and fresh draws",
            "a reward is clipped to its public range; one from a neighbour is noised again",
            "rows of a log are counted in public; which arms they show is used from releases alone",
            "the newest stored state is gone on from: a restored backup releases visits twice",
        ),
        not_covered=(
            "a user's own video, towards anyone who sees it: it depends on the user's own context",
            "the user's own vendor, which sees contexts and rewards; a neighbour that is asked",
            "what the vendor stores: a visit's context, in 16-bit steps, while an answer may come",
            "that a visit took place, and when: arrivals are counted in public",
            "public counters of views or clicks beside the learner",
            "what a vendor learns about its neighbours: that costs extra and has its own card",
            "a person with several visits, beyond what `lifetime` says",
            *limited,
            "what the neighbour itself learns of a forwarded visit: the sound one learns nothing",
        ),
        sources=(
            "Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), joint privacy",
            "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
            "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the sampler",
        ),
    )


def forwarded_visit(
    cards: Sequence[Guarantee], *, epsilon: float, visits_per_person: int | None = None
) -> Guarantee:
    """Make the card of everything that a visit costs which is learned and forwarded.

    Args:
        cards: of its parts, each proved; the first is the learner's.
        epsilon: of all parts together: what a budget is charged.
        visits_per_person: how many visits a lifetime covers; None: nothing limits them.
    """
    parts = " + ".join(f"{card.epsilon:g}" for card in cards)
    lifetime = f"a person with N visits pays N times {epsilon:g}"
    if visits_per_person is not None:
        lifetime = (
            f"{visits_per_person} visits of one person are learned and forwarded, then none is"
        )
    return _prove_card(
        epsilon,
        visits_per_person,
        name="One visit, everything together",
        sentence=(
            f"All that leaves a visit is together {epsilon:g}-differentially private ({parts}): "
            "the sums that the vendor learns, the context that its neighbours get, and what is "
            "learned about neighbours. A person's budget is charged this number."
        ),
        protects="one visit: its context, what was shown, and the click",
        adjacency=_LEARNED,
        against=(
            "everyone but the own vendor together, neighbours included; where the visit is not "
            "learned it still takes place, and is forwarded with any other context"
        ),
        lifetime=lifetime,
        assumptions=tuple(dict.fromkeys(line for card in cards for line in card.assumptions)),
        not_covered=tuple(dict.fromkeys(line for card in cards for line in card.not_covered)),
        sources=("Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",),
    )


def context(policy: Context) -> Guarantee:
    """The card of what a device draws and reports of its visitor's context."""
    if math.isinf(policy.epsilon):
        return without_noise("sound-context")
    epsilon = PureAccountant().add(policy.event).epsilon()
    return _prove_card(
        epsilon,
        trust=Trust.NOBODY,
        name="Sound local privacy of the context",
        sentence=(
            f"All that leaves the device at a visit is {epsilon:g}-differentially private: the "
            "arm asked for, and the report of cell and reward."
        ),
        protects="one visit's context, and whether the visitor liked what was shown",
        adjacency=_CONTEXT,
        against="everyone, the vendor included, with all arms asked for and all reports",
        lifetime="N visits cost N times as much; a `Device` stops before a limit",
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
            _KAIROUZ,
            "Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016)",
        ),
    )


def forwarded_context(
    agreement: Agreement, *, visits: int | None = None, asks_all: bool = False
) -> Guarantee:
    """Make the card of contexts that are forwarded.

    Args:
        agreement: between vendors.
        visits: of one person that are forwarded at most; None: nothing limits them.
        asks_all: as the `Vendor`'s; False: the card is for the content of a request alone.
    """
    spent = Forwarder(agreement, randomness=secure()).visit_epsilon
    if math.isinf(spent):
        raise ConfigError("A context in the clear has no card: nothing protects it.")
    if asks_all:
        return _card_of_requests_to_all(agreement, spent, visits)
    return _card_of_request_content(agreement, spent, visits)


def _card_of_requests_to_all(agreement: Agreement, spent: float, visits: int | None) -> Guarantee:
    """Every visit is sent to all neighbours, so that who is asked follows from no context."""
    return _prove_forwarded_context(
        agreement,
        spent,
        visits,
        sentence=(
            f"What all other vendors see together of one visit's context is {spent:g}-"
            "differentially private: each visit sends the same randomised cell to all of them, "
            "whatever is shown."
        ),
        protects="the context of one visit",
        assumed=(
            "every visit is sent to all neighbours that can be asked; no context decides which",
            "only the own vendor shows the video and sees the click: no one learns whose offer won",
        ),
        hole="when the visit was",
    )


def _card_of_request_content(agreement: Agreement, spent: float, visits: int | None) -> Guarantee:
    """Some visits are sent, to some neighbours: only the content of a request is covered."""
    return _prove_forwarded_context(
        agreement,
        spent,
        visits,
        sentence=(
            "Given that a request is made, what all other vendors read in it about the "
            f"visit's context is {spent:g}-differentially private. Whether one is made, when, and "
            "to whom depends on the context itself, and no epsilon covers that."
        ),
        protects="the context of one visit, in the request's content",
        assumed=(),
        hole=(
            "that a request was made, when, and to whom: a policy that forwards depending on "
            "the context reveals the true cell"
        ),
    )


def _prove_forwarded_context(
    agreement: Agreement,
    spent: float,
    visits: int | None,
    *,
    sentence: str,
    protects: str,
    assumed: tuple[str, ...],
    hole: str,
) -> Guarantee:
    """Make either card. hole: the first thing that is not covered."""
    lifetime = "every visit costs as much again"
    if visits is not None:
        lifetime = f"{visits} visits of one person, then nothing of theirs is forwarded"
    return _prove_card(
        spent,
        visits,
        name="Context that is forwarded",
        sentence=sentence,
        protects=protects,
        adjacency=_CONTEXT,
        against="all vendors it is forwarded to, even if they combine all they got",
        lifetime=lifetime,
        assumptions=(
            "a retry, and another vendor, get the bytes of the first request",
            f"{agreement.slices} slices of {agreement.features} features were agreed on beforehand",
            *assumed,
        ),
        not_covered=(
            hole,
            "the connection: addresses, times, accounts",
            "that a neighbour's video was fetched or clicked, where that neighbour sees it",
            "the user's own vendor, which knows the context",
        ),
        sources=(_KAIROUZ,),
    )


def learned_about_neighbours(
    settings: TrustSettings, *, visits_per_person: int | None = None
) -> Guarantee:
    """For a vendor whose home learner has a card. visits_per_person: None: nothing limits them."""
    if math.isinf(settings.epsilon) or not settings.watches:
        raise ConfigError("TrustSettings without noise, or that looks at nobody, has no card.")
    epsilon = PureAccountant().add(neighbour_release(settings, settings.epsilon).event).epsilon()
    reports = "what a neighbour states about rewards is not used"
    if settings.uses_reports:
        reports = f"stated rewards are clamped to {settings.low:g} to {settings.high:g}"
    return _prove_card(
        epsilon,
        visits_per_person,
        name="What is learned about neighbours",
        sentence=(
            f"Which neighbours a vendor asks and trusts is {epsilon:g}-differentially private "
            "for each visit, counted in the sums or not, on top of what its learner costs: it "
            "follows from public time and from noisy sums, one release per neighbour and "
            f"{settings.epoch} visits."
        ),
        protects="one visit: which neighbour was asked, what it offered and claimed, and the click",
        adjacency=_LEARNED,
        against=(
            "everyone else together, with all noisy sums; a visit replaced by another costs twice "
            "as much"
        ),
        lifetime="a person with N visits pays N times",
        assumptions=(
            "which arms were open at a visit, and when neighbours join or leave, is public",
            "a visit counts for the one whose offer is to be shown; each part once, in any epoch",
            reports,
        ),
        not_covered=(
            "that a visit took place, and when: visits are counted in public",
            "how a neighbour uses that it was asked: it may answer others differently",
            "a vendor whose own learner has no guarantee: the same rules then use exact numbers",
        ),
        sources=(
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Ghosh, Roughgarden, Sundararajan (STOC 2009), for noise on integers",
        ),
    )
