"""What leaves a device or a vendor at random, on the bench: local.py, forwarding.py.

Exact   are the laws of the shipped code; an arm that is explored is uniform, with the
        chance that the policy compares its word with.
Tables  that a vendor publishes may be anything, so the worst are taken: one arm liked in one cell,
        and all others in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Check, Line
from tacit.auditing.output_distributions import Law, Words, check_of, law, responses
from tacit.designs.pdap.forwarding import Agreement, Forwarder, Host
from tacit.designs.pdap.local import Context, ContextSetting
from tacit.designs.pdap.messages import Forward, Reward
from tacit.designs.pdap.policy import Arms, Choice, Policy
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.randomness import Source, secure

EPSILON = 1.0
LEFT, RIGHT = np.array([0.1]), np.array([0.9])
PEERS = 3
_NOT_EXPLORED = (1 << 63) - 1  # its last 20 bits are ones: above any chance to explore
_REQUEST = bytes(16)
Make = Callable[[Source], Context]


class Told(Context):
    """A device with any table that a vendor may publish: (cells, arms)."""

    def __init__(self, setting: ContextSetting, table: NDArray[np.float64], source: Source) -> None:
        self._table = table
        super().__init__(setting, randomness=source)

    def means(self) -> NDArray[np.float64]:
        return self._table


def worst(arms: int) -> Make:
    """The last arm is a neighbour, one of the candidates. The first arm alone is liked on the left,
    and all others on the right."""
    told = ContextSetting(videos=arms - 1, neighbours=1, dimension=1, epsilon=EPSILON)
    table = np.zeros((2, arms))
    table[0, 0] = table[1, 1:] = 1.0
    return partial(Told, told, table)


def shown_law(make: Make, context: NDArray[np.float64]) -> dict[Hashable, Fraction]:
    """Of the arm that a device asks for."""
    policy = make(Words(rest=_NOT_EXPLORED))
    drawn = law(lambda: policy.select(context).arm)
    explored, arms = policy.explore, policy.n_own + policy.n_neighbours
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
    answers = responses(answered, still.response.categories, truth, before=1)
    shown = shown_law(make, context)
    return {
        (arm, answer): p * q for (arm, p), (answer, q) in product(shown.items(), answers.items())
    }


def visits() -> Line:
    """Draw and report together: any other context, liked on the left, and not on the right."""

    def check(arms: int) -> Check:
        make = worst(arms)

        def visit(context: NDArray[np.float64], reward: float) -> Callable[[], Hashable]:
            policy = make(secure())

            def of() -> Hashable:
                report = policy.report(policy.select(context), reward)
                return report.arm, report.answer

            return of

        return check_of(
            f"another cell, and no click, {arms} arms",
            lambda: (visit_law(make, LEFT, 1.0), visit_law(make, RIGHT, 0.0)),
            (visit(LEFT, 1.0), visit(RIGHT, 0.0)),
            share=1 if arms == 2 else 4,
        )

    checks = (check(2), check(10))
    return Line("sound-context", EPSILON, checks, unit="visit", adjacency="any other")


def forwards() -> Line:
    """All bytes that any number of neighbours get about one context."""

    def check(features: int, slices: int, share: int) -> Check:
        agreement = Agreement(features, slices, EPSILON)
        a, b = np.full(features, 0.1), np.full(features, 0.9)
        return check_of(
            f"{slices} slices of {features} features, {PEERS} neighbours together",
            lambda: (sent_law(agreement, a), sent_law(agreement, b)),
            (partial(sent, agreement, a, secure()), partial(sent, agreement, b, secure())),
            share=share,
        )

    checks = (check(1, 2, 2), check(2, 3, 5))
    return Line("messages, context", EPSILON, checks, unit="context", adjacency="any other")


def answers() -> Line:
    """The bytes about a guest's reward, from the first one on."""
    check = check_of(
        "clicked, or not",
        lambda: (answer_law(1.0), answer_law(0.0)),
        (partial(answered, 1.0, secure()), partial(answered, 0.0, secure())),
    )
    return Line("messages, reward", EPSILON, (check,), unit="reward", adjacency="0 or 1")


class _Shows:
    """A learner with one video."""

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.zeros(len(contexts), dtype=np.int64)


def answered(reward: float, source: Source) -> Hashable:
    """What a vendor that has just opened sends about its first guest."""
    host = Host(_Shows(), epsilon=EPSILON, randomness=source)
    return Reward.of(_REQUEST, host.answer(host.select(LEFT), reward)).encode()


def answer_law(reward: float) -> Law:
    truth = Host(_Shows(), epsilon=EPSILON, randomness=secure()).bit.truth
    return responses(partial(answered, reward), None, truth)


class _BySide(Policy):
    """A learner that shows its own video on the left, and its last neighbour's on the right."""

    _arms = Arms(1, PEERS)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        return Choice(0 if context[0] < 0.5 else PEERS, "exploit", None)

    def update(self, choice: Choice, reward: float) -> None: ...


def sent(
    agreement: Agreement, context: NDArray[np.float64], source: Source, *, asks_all: bool = True
) -> Hashable:
    """Which of `PEERS` neighbours that collude are asked, and what they get, without the random
    number of the request."""
    home = Vendor(
        _BySide(),
        ["own"],
        peers=[f"peer {number}" for number in range(PEERS)],
        forwarder=Forwarder(agreement, randomness=source),
        caution=TrustSettings(share=1.0),
        asks_all=asks_all,
    )
    visit = home.choose(context)
    if visit.forward is None:
        return ()
    request = Forward.decode(visit.forward).request
    return tuple((peer, visit.forward.replace(request, _REQUEST)) for peer in visit.asks)


def sent_law(agreement: Agreement, context: NDArray[np.float64], *, asks_all: bool = True) -> Law:
    if sent(agreement, context, secure(), asks_all=asks_all) == ():
        return {(): Fraction(1)}
    response = Forwarder(agreement, randomness=secure()).response
    assert response is not None
    drawn: Any = partial(sent, agreement, context, asks_all=asks_all)
    return responses(drawn, agreement.answers, response.truth)


LINES: tuple[Callable[[], Line], ...] = (visits, forwards, answers)
