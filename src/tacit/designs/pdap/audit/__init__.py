"""Audits of P-DAP: the paper's claims, this library's claims, and planted bugs.

Here is what leaves a device or a vendor at random (local.py, forwarding.py), by exact distributions
of the shipped code. A vendor may publish any table, so the worst is taken: one arm liked in one
cell, and all others in the other. A bug replaces one step of the shipped code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import EnumeratedBug, plant
from tacit.auditing.claims import AuditedClaim, AuditPlan, Bug, Check, Tool, exceeds
from tacit.auditing.output_distributions import (
    Distribution,
    FixedWords,
    distribution,
    distribution_check,
    response_distribution,
)
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap.audit import joint, published
from tacit.designs.pdap.audit.joint import Rows, distinguished, released, without
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import Joint
from tacit.designs.pdap.joint_sums import GRAIN, SumNoise
from tacit.designs.pdap.local import Context, ContextSetting, Device, Report
from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.policies.base import Choice, Policy
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.unanswered import Unanswered
from tacit.designs.pdap.vendor import Vendor
from tacit.randomness import Source, secure

EPSILON = 1.0
LEFT, RIGHT = np.array([0.1]), np.array([0.9])
VISITS = 2
"""Visits that a device's limit covers, of the `COMES` that its owner makes."""
COMES = 3
PEERS = 3
_NOT_EXPLORED = (1 << 63) - 1  # its last 20 bits are ones: above any chance to explore
Make = Callable[[Source], "TableDevice"]


class TableDevice(Context):
    """A device with any table that a vendor may publish: (cells, arms). answer: sent last."""

    def __init__(self, setting: ContextSetting, table: NDArray[np.float64], source: Source) -> None:
        self._table = table
        self.answer: int | None = None
        super().__init__(setting, randomness=source)

    def means(self) -> NDArray[np.float64]:
        return self._table

    def learn(self, report: Report) -> None:
        self.answer = report.answer


def worst(arms: int) -> Make:
    """The last arm is a neighbour. The first alone is liked on the left, all others on the
    right."""
    setting = ContextSetting(videos=arms - 1, neighbours=1, dimension=1, epsilon=EPSILON)
    table = np.zeros((2, arms))
    table[0, 0] = table[1, 1:] = 1.0
    return partial(TableDevice, setting, table)


def shown_law(make: Make, context: NDArray[np.float64]) -> dict[Hashable, Fraction]:
    """Of the arm that a device asks for."""
    policy = make(FixedWords(rest=_NOT_EXPLORED))
    drawn = distribution(lambda: policy.select(context).arm)
    explored, arms = policy.explore, len(policy.allowed_arms())
    return {
        arm: (1 - explored) * drawn.get(arm, Fraction(0)) + explored / arms for arm in range(arms)
    }


def visit_law(make: Make, context: NDArray[np.float64], reward: float) -> dict[Hashable, Fraction]:
    """Of all that leaves a device at one visit: the arm, and the answer about cell and click."""
    still = make(secure())
    cell, truth = still.grid.number(context), still.response.truth

    def answered(source: Source) -> Hashable:
        return make(source).report(Choice(0, "exploit", cell), reward).answer

    # One word turns a reward into a click, before those of the answer.
    answers = response_distribution(answered, still.response.categories, truth, before=1)
    shown = shown_law(make, context)
    return {
        (arm, answer): p * q for (arm, p), (answer, q) in product(shown.items(), answers.items())
    }


def lived_law(
    make: Make, context: NDArray[np.float64], reward: float, *, metered: bool = True
) -> Distribution:
    """Of all that leaves a device in `COMES` visits, `VISITS` of which its limit pays for. Which
    ones is asked of the shipped device; metered False forgets to ask."""
    one, policy = visit_law(make, context, reward), make(secure())
    arms = len(policy.allowed_arms())
    free: Distribution = {(arm, None): Fraction(1, arms) for arm in range(arms)}
    device = Device(policy, lifetime_epsilon=VISITS * EPSILON)
    lives: dict[Any, Fraction] = {(): Fraction(1)}
    for _ in range(COMES):
        now = one if device.select(context).phase != "train" or not metered else free
        lives = {(*seen, new): p * q for (seen, p), (new, q) in product(lives.items(), now.items())}
    return lives


def lived(make: Make, context: NDArray[np.float64], reward: float) -> Hashable:
    """One such life: the arm of each visit, and the answer where one is sent."""
    policy = make(secure())
    device, sent = Device(policy, lifetime_epsilon=VISITS * EPSILON), []
    for _ in range(COMES):
        policy.answer = None
        choice = device.select(context)
        device.update(choice, reward)
        sent.append((choice.arm, policy.answer))
    return tuple(sent)


def visited(policy: Context, context: NDArray[np.float64], reward: float) -> Hashable:
    """All that leaves a device at one visit."""
    report = policy.report(policy.select(context), reward)
    return report.arm, report.answer


def visits() -> AuditedClaim:
    """Draw and report together: any other context, liked on the left, and not on the right."""

    def check(arms: int) -> Check:
        make = worst(arms)
        left, right = make(secure()), make(secure())
        return distribution_check(
            f"another cell, and no click, {arms} arms",
            lambda: (visit_law(make, LEFT, 1.0), visit_law(make, RIGHT, 0.0)),
            (partial(visited, left, LEFT, 1.0), partial(visited, right, RIGHT, 0.0)),
            share=1 if arms == 2 else 4,
        )

    checks = (check(2), check(10))
    return AuditedClaim("sound-context", EPSILON, checks, unit="visit", adjacency="any other")


def lives() -> AuditedClaim:
    """Three visits of a person whose device pays for two."""
    make = worst(2)
    check = distribution_check(
        f"{COMES} visits, paid for {VISITS}",
        lambda: (lived_law(make, LEFT, 1.0), lived_law(make, RIGHT, 0.0)),
        (partial(lived, make, LEFT, 1.0), partial(lived, make, RIGHT, 0.0)),
        share=2,
    )
    claim = VISITS * EPSILON
    return AuditedClaim(
        "sound-context, metered", claim, (check,), unit="person", adjacency="any other"
    )


def forwards() -> AuditedClaim:
    """All bytes that any number of neighbours get about one context."""

    def check(features: int, slices: int, share: int) -> Check:
        agreement = Agreement(features, slices, EPSILON)
        a, b = np.full(features, 0.1), np.full(features, 0.9)
        return distribution_check(
            f"{slices} slices of {features} features, {PEERS} neighbours together",
            lambda: (sent_distribution(agreement, a), sent_distribution(agreement, b)),
            (partial(sent, agreement, a, secure()), partial(sent, agreement, b, secure())),
            share=share,
        )

    checks = (check(1, 2, 2), check(2, 3, 5))
    return AuditedClaim("messages, context", EPSILON, checks, unit="context", adjacency="any other")


class _BySide(Policy):
    """A learner that shows its own video on the left, and its last neighbour's on the right."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        return Choice(0 if context[0] < 0.5 else PEERS, "exploit", None)

    def update(self, choice: Choice, reward: float) -> None: ...


def sent(
    agreement: Agreement, context: NDArray[np.float64], source: Source, *, asks_all: bool = True
) -> Hashable:
    """Which of `PEERS` colluding neighbours are asked, and what they get, less the request's
    number."""
    home = Vendor(
        _BySide(1, PEERS),
        ["own"],
        peers=[f"peer {number}" for number in range(PEERS)],
        forwarder=Forwarder(agreement, randomness=source),
        trust_settings=TrustSettings(share=1.0),
        asks_all=asks_all,
    )
    visit = home.choose(context)
    if visit.forward is None:
        return ()
    request = Forward.decode(visit.forward).request
    return tuple((peer, visit.forward.replace(request, bytes(16))) for peer in visit.asks)


def sent_distribution(
    agreement: Agreement, context: NDArray[np.float64], *, asks_all: bool = True
) -> Distribution:
    if sent(agreement, context, secure(), asks_all=asks_all) == ():
        return {(): Fraction(1)}
    response = Forwarder(agreement, randomness=secure()).response
    assert response is not None
    drawn: Any = partial(sent, agreement, context, asks_all=asks_all)
    return response_distribution(drawn, agreement.answers, response.truth)


_shipped_draw = SumNoise.draw
_shipped_select = Joint.select


def no_noise_on_likes(noise: SumNoise, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Dislikes have noise, likes have none."""
    drawn = _shipped_draw(noise, shape)
    drawn[..., 0] = 0  # of a pair (likes, dislikes)
    return drawn


def exploring_by_exact_counts(policy: Joint, context: Any, arms: Any = None) -> Any:
    """An arm that was never tried in this cell, whatever the noisy sums say, is tried."""
    exact_counts = policy.export_state()[1]["exact"][policy.grid.number(context)].sum(axis=1)
    if arms is None and (exact_counts == 0).any():
        arms = [int((exact_counts == 0).argmax())]
    return _shipped_select(policy, context, arms)


def reward_not_clamped(_: SumNoise, share: float) -> NDArray[np.int64]:
    """A neighbour sends what it likes, and it is added as it is."""
    liked = round(share * GRAIN)
    return np.array([liked, GRAIN - liked])


BEYOND: Rows = np.array([[0.1, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A neighbour's reward of four times its range."""


@dataclass(frozen=True)
class Streamed:
    """A fault in the joint learner, and the visit that shows it."""

    name: str
    fault: dict[type, dict[str, Any]]
    rows: Rows
    visit: int
    tool: Tool = "exact"
    rule_of: None = None
    epsilon: float = joint.EPSILON

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        other = without(self.rows, self.visit)
        with plant(self.fault if bug else {}):
            learner = joint.joint(joint.setting())
            if self.tool == "grey-box":
                return bool(distinguished(learner, self.rows, other)), None
            loss = laplace_loss(moves(released(learner), self.rows, other))
        return exceeds(self.epsilon, loss), loss


_AGREED = Agreement(1, 2, EPSILON)
_SIDES = (LEFT, RIGHT)


def _fresh_for_each(side: int, bug: bool) -> Distribution:
    """Every neighbour gets a randomisation of its own."""
    once = sent_distribution(_AGREED, _SIDES[side])
    if not bug:
        return once
    answers: dict[Hashable, Fraction] = {}
    for seen in product(once.items(), repeat=PEERS):
        got = tuple(name for name, _ in seen)
        answers[got] = math.prod((chance for _, chance in seen), start=Fraction(1))
    return answers


def _asked(side: int, bug: bool) -> Distribution:
    """Only the neighbour that was chosen is asked, and nobody where an own video was."""
    return sent_distribution(_AGREED, _SIDES[side], asks_all=not bug)


def _lived(side: int, bug: bool) -> Distribution:
    """Three visits; nobody asks the limit, which is for two."""
    return lived_law(worst(2), _SIDES[side], float(1 - side), metered=not bug)


BUGS: tuple[Bug, ...] = (
    Streamed(
        "noise on dislikes but not on likes",
        {SumNoise: {"draw": no_noise_on_likes}},
        joint.UNEXPLORED,
        1,
    ),
    Streamed(
        "exact counts say what to explore",
        {Joint: {"select": exploring_by_exact_counts}},
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    Streamed("a reward that is not clamped", {SumNoise: {"pair": reward_not_clamped}}, BEYOND, 0),
    # A visit is learned as often as it is answered, if others are not.
    Streamed("a visit learned twice", {Unanswered: {"end_one": lambda *_: True}}, joint.AGAIN, 0),
    EnumeratedBug("a fresh randomisation for each neighbour", _fresh_for_each, [(0, 1)], EPSILON),
    EnumeratedBug("a neighbour asked because of the cell", _asked, [(0, 1)], EPSILON),
    EnumeratedBug("visits that nobody meters", _lived, [(0, 1)], VISITS * EPSILON),
)
SOUND: tuple[Callable[[], AuditedClaim], ...] = (visits, lives, forwards, *joint.LINES)
SAMPLES = 5_000


def audit() -> AuditPlan:
    return AuditPlan(
        {"published": published.LINES, "sound": SOUND},
        BUGS,
        SAMPLES,
        conclusion="Nothing is other than expected. That no violation was found is no proof.",
        after="tacit simulate pdap  shows what privacy costs in clicks.",
    )
