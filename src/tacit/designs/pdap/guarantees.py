"""Cards of the sound learners, of messages between vendors, and of trust in neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tacit.accounting import PureAccountant
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointSetting
from tacit.designs.pdap.local_learner import LocalLearner, LocalSetting
from tacit.designs.pdap.published_guarantees import card_without_noise
from tacit.designs.pdap.trust import TrustSettings, neighbour_release
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound
from tacit.randomness import secure

_LEARNED = Adjacency("visit", "learn or not learn")
_CONTEXT = Adjacency("visit", "replace")
_NEIGHBOURS_APART = (
    "a neighbour that is asked: a forwarded context has its own card",
    "what a vendor learns about its neighbours: that costs extra and has its own card",
)
"""What the card of the joint learner does not cover, and the card of a whole visit does."""
_KAIROUZ = "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)"


def _make_proved_card(
    epsilon: float, visits: int | None = None, *, trust: Trust = Trust.OWN_VENDOR, **card: Any
) -> Guarantee:
    """Make a card with a proved, pure epsilon.

    Args:
        epsilon: nats of one visit.
        visits: the most visits of one person, from which the lifetime cost follows; None if
            nothing limits them.
        trust: whom a person has to trust.
        card: the other fields of `Guarantee`.
    """
    if visits is not None:
        card |= {"lifetime_epsilon": visits * epsilon, "lifetime_delta": 0.0}
    return Guarantee(trust=trust, basis=Basis.PROVED, epsilon=epsilon, delta=0.0, **card)


def example_cards(epsilon: float) -> tuple[Guarantee, ...]:
    """Return all cards for the sizes that the docstring of `design.CardSettings` states.

    Args:
        epsilon: nats of one visit for the joint learner; a forwarded context costs as many again,
            and trust in neighbours a tenth in addition. Also nats of one visit for the local
            learner. At inf, there is only one card, of a learner without noise.
    """
    if math.isinf(epsilon):
        return (card_without_noise("sound-joint"),)
    sizes: dict[str, Any] = {"videos": 20, "neighbours": 3, "dimension": 2, "epsilon": epsilon}
    return (
        joint_card(JointSetting(**sizes, horizon=200_000)),
        forwarded_context_card(Agreement(features=2, slices=2, epsilon=epsilon), asks_all=True),
        neighbour_trust_card(TrustSettings(epsilon=epsilon / 10)),
        local_card(LocalLearner(LocalSetting(**sizes), randomness=secure())),
    )


def joint_card(
    setting: JointSetting, *, visits_per_person: int | None = None, fits: int = 1
) -> Guarantee:
    """Make the card of the joint learner.

    Args:
        setting: the learner's settings.
        visits_per_person: visits of one person that are learned at most; None if nothing limits
            them.
        fits: number of fits of the learner; each may have learned the visit.
    """
    if math.isinf(setting.epsilon):
        return card_without_noise("sound-joint")
    accountant = PureAccountant()
    for _ in range(fits):
        accountant.add(setting.noise.event)
    epsilon = accountant.epsilon()
    sentence_on_fits = ""
    if fits > 1:
        sentence_on_fits = (
            f" That is {fits} fits together, all of which may have learned the visit."
        )
    lifetime = "a visit is in one release, however long the learner runs"
    not_covered_by_limit: tuple[str, ...] = ()
    if visits_per_person is None:
        lifetime += f"; a person with N visits pays N times {format_upper_bound(epsilon)}"
    else:
        lifetime += f"; of one person {visits_per_person} visits are learned, the others are not"
        not_covered_by_limit = (
            "one visit of a person beyond their limit: without it, another of theirs is learned",
        )
    return _make_proved_card(
        epsilon,
        visits_per_person,
        name="Sound joint privacy: noisy sums of rewards and features",
        sentence=(
            f"What all others are shown is {format_upper_bound(epsilon)}-differentially private "
            "for each visit, learned or not learned: for its context, the arm and the reward "
            "together."
            f"{sentence_on_fits}"
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
            "only the newest stored state is continued: a restored backup releases visits twice",
        ),
        not_covered=(
            "the video that a user is shown, towards anyone who sees it: their context decides it",
            "the user's own vendor, which sees contexts and rewards",
            "what the vendor stores: a visit's context, in 16-bit steps, while an answer may come",
            "that a visit took place, and when: arrivals are counted in public",
            "public counters of views or clicks beside the learner",
            *_NEIGHBOURS_APART,
            "a person with several visits, beyond what `lifetime` says",
            *not_covered_by_limit,
            "what the neighbour itself learns of a forwarded visit: the sound one learns nothing",
        ),
        sources=(
            "Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), joint privacy",
            "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
            "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the sampler",
        ),
    )


def forwarded_visit_card(
    cards: Sequence[Guarantee], *, epsilon: float, visits_per_person: int | None = None
) -> Guarantee:
    """Make the card of a visit that is learned and forwarded: its total cost.

    Args:
        cards: the cards of the parts of the cost, each proved.
        epsilon: nats of all parts together, which a person's budget is charged.
        visits_per_person: visits of one person that are learned and forwarded at most; None if
            nothing limits them.
    """
    epsilons = " + ".join(format_upper_bound(card.epsilon or 0.0) for card in cards)
    assumptions = list(itertools.chain.from_iterable(card.assumptions for card in cards))
    not_covered_by_parts = itertools.chain.from_iterable(card.not_covered for card in cards)
    not_covered = [line for line in not_covered_by_parts if line not in _NEIGHBOURS_APART]
    lifetime = f"a person with N visits pays N times {format_upper_bound(epsilon)}"
    if visits_per_person is not None:
        lifetime = (
            f"{visits_per_person} visits of one person are learned and forwarded, then none is"
        )
    return _make_proved_card(
        epsilon,
        visits_per_person,
        name="One visit, everything together",
        sentence=(
            f"All that leaves a visit is together {format_upper_bound(epsilon)}-differentially "
            f"private ({epsilons}): the sums that the vendor learns, the context that its "
            "neighbours get, and what is learned about neighbours. A person's budget is charged "
            "this number."
        ),
        protects="one visit: its context, what was shown, and the click",
        adjacency=_LEARNED,
        against=(
            "everyone except the visitor's own vendor, even all together, neighbours included; "
            "compared with: the visit takes place, is not learned, and is forwarded with any other "
            "context"
        ),
        lifetime=lifetime,
        # dict.fromkeys removes repeated lines and keeps the order
        assumptions=tuple(dict.fromkeys(assumptions)),
        not_covered=tuple(dict.fromkeys(not_covered)),
        sources=("Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",),
    )


def local_card(policy: LocalLearner) -> Guarantee:
    """Make the card of the local learner: the arm that a device draws, and its report."""
    if math.isinf(policy.epsilon):
        return card_without_noise("sound-context")
    epsilon = PureAccountant().add(policy.event).epsilon()
    return _make_proved_card(
        epsilon,
        trust=Trust.NOBODY,
        name="Sound local privacy of the context",
        sentence=(
            "All that leaves the device at a visit is "
            f"{format_upper_bound(epsilon)}-differentially private: the arm asked for, and the "
            "report of cell and reward."
        ),
        protects="one visit's context, and whether the visitor liked what was shown",
        adjacency=_CONTEXT,
        against="everyone, the vendor included, with all arms asked for and all reports",
        lifetime="N visits cost N times as much; a `Device` stops before a limit",
        assumptions=(
            "the device draws the arm itself, from published tables; means are clamped to [0, 1]",
            "the vendor learns from reports alone and never sees the context",
            (
                f"the draw loses {format_upper_bound(policy.draw_loss)} at most, and the report at "
                "most the rest"
            ),
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


def forwarded_context_card(
    agreement: Agreement, *, visits: int | None = None, asks_all: bool = False
) -> Guarantee:
    """Make the card of contexts that are forwarded.

    Args:
        agreement: the agreement between vendors.
        visits: visits of one person that are forwarded at most; None if nothing limits them.
        asks_all: whether the `Vendor` asks all neighbours at every visit. If not, the card covers
            only the content of a request.

    Raises:
        ConfigError: The agreement sends contexts without noise.
    """
    epsilon = Forwarder(agreement, randomness=secure()).visit_epsilon
    if math.isinf(epsilon):
        raise ConfigError("A context in the clear has no card: nothing protects it.")
    if asks_all:
        return _card_of_requests_to_all(agreement, epsilon, visits)
    return _card_of_request_content(agreement, epsilon, visits)


def _card_of_requests_to_all(agreement: Agreement, epsilon: float, visits: int | None) -> Guarantee:
    """Make the card for a vendor that asks all neighbours at every visit.

    No context then decides who is asked. Args are those of `_make_forwarding_card`.
    """
    return _make_forwarding_card(
        agreement,
        epsilon,
        visits,
        sentence=(
            "What all other vendors see together of one visit's context is "
            f"{format_upper_bound(epsilon)}-differentially private: each visit sends the same "
            "randomised cell to all of them, whatever is shown."
        ),
        protects="the context of one visit",
        assumptions=(
            "every visit is sent to all neighbours that can be asked; no context decides which",
            "only the own vendor shows the video and sees the click: no one learns whose offer won",
        ),
        not_covered_first="when the visit was",
    )


def _card_of_request_content(agreement: Agreement, epsilon: float, visits: int | None) -> Guarantee:
    """Make the card for a vendor whose policy decides who is asked.

    It only covers the content of a request. Args are those of `_make_forwarding_card`.
    """
    return _make_forwarding_card(
        agreement,
        epsilon,
        visits,
        sentence=(
            "Given that a request is made, what all other vendors read in it about the "
            f"visit's context is {format_upper_bound(epsilon)}-differentially private. Whether one "
            "is made, when, and to whom depends on the context itself, and no epsilon covers that."
        ),
        protects="the context of one visit, in the request's content",
        assumptions=(),
        not_covered_first=(
            "that a request was made, when, and to whom: a policy that forwards depending on "
            "the context reveals the true cell"
        ),
    )


def _make_forwarding_card(
    agreement: Agreement,
    epsilon: float,
    visits: int | None,
    *,
    sentence: str,
    protects: str,
    assumptions: tuple[str, ...],
    not_covered_first: str,
) -> Guarantee:
    """Make a card of forwarded contexts from the lines in which the two cards differ.

    Args:
        agreement: the agreement between vendors.
        epsilon: nats of one visit.
        visits: visits of one person that are forwarded at most; None if nothing limits them.
        sentence: as in `Guarantee`.
        protects: as in `Guarantee`.
        assumptions: further assumptions, after those that both cards have.
        not_covered_first: the first thing that is not covered, before those that both cards have.
    """
    lifetime = "every visit costs as much again"
    if visits is not None:
        lifetime = f"{visits} visits of one person, then nothing of theirs is forwarded"
    return _make_proved_card(
        epsilon,
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
            *assumptions,
        ),
        not_covered=(
            not_covered_first,
            "the connection: addresses, times, accounts",
            "that a neighbour's video was fetched or clicked, where that neighbour sees it",
            "the user's own vendor, which knows the context",
        ),
        sources=(_KAIROUZ,),
    )


def neighbour_trust_card(
    settings: TrustSettings, *, visits_per_person: int | None = None
) -> Guarantee:
    """Make the card of trust in neighbours (`trust.py`), for a vendor whose own learner has noise.

    Args:
        settings: the settings of the rules of trust.
        visits_per_person: visits of one person that are counted at most; None if nothing limits
            them.

    Raises:
        ConfigError: The sums have no noise, or no rule uses them.
    """
    if math.isinf(settings.epsilon) or not settings.uses_sums:
        raise ConfigError("TrustSettings without noise, or whose rules use no sums, have no card.")
    epsilon = PureAccountant().add(neighbour_release(settings, settings.epsilon).event).epsilon()
    reports = "what a neighbour states about rewards is not used"
    if settings.uses_reports:
        reports = f"stated rewards are clamped to {settings.low:g} to {settings.high:g}"
    return _make_proved_card(
        epsilon,
        visits_per_person,
        name="What is learned about neighbours",
        sentence=(
            f"Which neighbours a vendor asks and trusts is {format_upper_bound(epsilon)}-"
            "differentially private for each visit, counted in the sums or not, on top of what its "
            "learner costs: it follows from public time and from noisy sums, one release per "
            "neighbour and "
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
            "which arms could be shown at a visit, and when neighbours join or leave, is public",
            "a visit counts for the neighbour that was chosen: each part once, in any epoch",
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
