"""P-DAP as published: each claim on the neighbours that refute it, by running the shipped policies.

Source   Zhou, Zhou, Wu, Jin (2015); the claims and why they fail: the cards of
         `designs/pdap/published_guarantees.py`, whose figures these lines must reproduce.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import bench
from tacit.auditing.bench import check as on_the_bench
from tacit.auditing.claims import Check, Checked, Line
from tacit.auditing.output_distributions import choices, law
from tacit.auditing.rules import Branch, Chosen, Private, Public, Rule
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap import theory
from tacit.designs.pdap.control import Setting
from tacit.designs.pdap.policy import Cell, Choice
from tacit.designs.pdap.published import ForwardedUsers, GPDap, PDap, Reading
from tacit.designs.pdap.published_guarantees import DEEP_CASES
from tacit.mechanisms.selection import draw_rows
from tacit.randomness import secure

PRIME = 0.1
"""epsilon' of the lines about contexts."""
PAST, REWARD = 0.5, 1.0
GEOMETRIC = 0.01
"""epsilon_0 of GP-DAP."""
LEFT, RIGHT = np.array([0.1]), np.array([0.9])
Sides = tuple[Callable[[], Hashable], Callable[[], Hashable]]
_LEVELS, _HORIZONS = (3, 5, 7), (2, 4, 8)
_DEEP: dict[str, Any] = {"split_after": 1, "growth": 1e-9}  # a cell splits at each visit
_MANY = 1000  # videos
_SHARE = 2  # of the samples, for the smallest tree; others get a tenth of that


LARGEST_MEAN = Private()
"""The arm of the largest mean, which is one of true rewards."""
UNEXPLORED = Private()
"""Which arm is still to be tried: it follows from the counts of the visitor's cell."""
OWN_OR_FORWARDED = Branch(Private(), Public("own"), Public("forwarded"))
SPLIT = Branch(Private(), Public("children"), Public("parent"))
"""Whether a cell was split, by its exact number of visits."""
RAW_REWARD = Private()


def draw(epsilon: float, level: int) -> Chosen:
    """ExP-DAP's draw: means of two cells differ by up to 1, whatever Delta u is taken to be."""
    return Chosen(1, theory.draw_exponent(epsilon, 1, 2, 1, level))


def setting(**changes: Any) -> Setting:
    """One feature; so short a horizon that ln T visits of the whole cube are one of each arm."""
    plain = {"videos": 2, "neighbours": 0, "dimension": 1, "horizon": 2, "split_after": 1000}
    return Setting(**{**plain, **changes})


def taught(
    policy: PDap | ForwardedUsers, context: NDArray[np.float64], rewards: Sequence[float]
) -> None:
    """Each arm tried with its reward, as often as its cell asks for, and no oftener."""
    choice = policy.select(context)
    while choice.phase != "exploit":
        policy.update(choice, rewards[choice.arm])
        choice = policy.select(context)


def deepened(policy: PDap, context: NDArray[np.float64], level: int) -> None:
    """Visits until the context's cell has this level."""
    while policy.partition.find(context)[0].level < level:
        policy.update(policy.select(context), 0.0)


def shown(policy: PDap | ForwardedUsers, context: NDArray[np.float64]) -> Callable[[], Hashable]:
    """What the next visitor is shown; asking changes nothing."""
    return lambda: policy.select(context).arm


def swapped(level: int, kind: type[PDap] = PDap, epsilon: float = PRIME) -> PDap:
    """Two cells of this level, two videos: the one liked on the left is not on the right."""
    policy = kind(setting(**_DEEP, deepest=level), epsilon=epsilon, randomness=secure())
    for context, rewards in ((LEFT, (1.0, 0.0)), (RIGHT, (0.0, 1.0))):
        deepened(policy, context, level)
        taught(policy, context, rewards)
    return policy


def own_draws() -> Line:
    """Theorem 4's draw: epsilon' whatever the context."""
    checks = (*map(_two, _LEVELS), *map(a_thousand, _LEVELS))
    return _line("exp-dap, draw", PRIME, "context", checks)


def own_choices() -> Line:
    """Theorem 4: all of Algorithm 1, for two contexts."""
    return _line("exp-dap", PRIME, "context", (_unexplored(), _better_than_the_neighbour()))


def own_visit() -> Line:
    """Theorem 4 read as one about past visitors: whether one came, one short of a split."""
    return _line("exp-dap, past visit", PRIME, "visit", (_one_short(),), "comes or goes")


def past_reward() -> Line:
    """Theorem 4 read as one about past clicks; contexts public."""
    checks = (_one_reward(0, 10), _one_reward(3, 6))
    return _line("exp-dap, past reward", PAST, "reward", checks, "0 or 1")


def guests() -> Line:
    """Theorem 5: all of Algorithm 2, for one reward."""
    return _line("lap-dap", REWARD, "reward", (_raw(), _tie()), "0 or 1")


def tree_with_too_few_levels() -> Line:
    """Lemma 5's noise at M = 2: log2 T levels."""
    checks = tuple(_tree("lemma 5", horizon) for horizon in _HORIZONS)
    return _line("lap-dap, log2 T levels", REWARD, "reward", checks, "0 or 1")


def tree_with_all_levels() -> Line:
    """The noise of the binary mechanism, which holds for what is sent through the tree."""
    whole = "lap-dap, tree of floor(log2 T) + 1"
    checks = tuple(_tree("tree", horizon) for horizon in _HORIZONS)
    return Line(whole, REWARD, checks, unit="reward", adjacency="0 or 1")


def geometric() -> Line:
    """Section VI at epsilon_0: the levels that T, A and p of the cards reach."""
    trees = tuple(_geometric_tree(theory.deepest_level(*case, 2)) for case in DEEP_CASES)
    return _line("gp-dap", GEOMETRIC, "reward", trees, "0 or 1")


def geometric_draw() -> Line:
    """Section VI with Delta u = L m^(-alpha l): both grow with the level."""
    check = _pair_of_contexts("swapped winners, level 5", partial(swapped, 5, GPDap, GEOMETRIC))
    return _line("gp-dap, draw", GEOMETRIC, "context", (check,))


def _line(
    name: str, epsilon: float, unit: str, checks: tuple[Check, ...], adjacency: str = "any other"
) -> Line:
    name = f"{name}, published"
    return Line(name, epsilon, checks, published=True, unit=unit, adjacency=adjacency)


def _pair(name: str, sides: Callable[[], Sides], rule: Rule | None = None, share: int = 1) -> Check:
    """sides: made anew for each check."""
    return lambda samples, alpha: choices(name, *sides(), rule=rule, share=share)(samples, alpha)


def _pair_of_contexts(
    name: str, make: Callable[[], PDap], rule: Rule | None = None, share: int = 1
) -> Check:
    """One policy, two visitors."""

    def sides() -> Sides:
        policy = make()
        return shown(policy, LEFT), shown(policy, RIGHT)

    return _pair(name, sides, rule, share)


def _two(level: int) -> Check:
    name, share = f"swapped winners, level {level}", 1 if level == 5 else 5
    return _pair_of_contexts(name, partial(swapped, level), draw(PRIME, level), share)


def a_thousand(level: int) -> Check:
    """The policy's own mechanism at means that swap: exploring so many takes too long."""

    def check(samples: int, alpha: float) -> Checked:
        policy = PDap(setting(videos=_MANY), epsilon=PRIME, randomness=secure())
        means = np.eye(2, _MANY)
        means[1] = 1 - means[0]
        weights = policy.selection(level, _MANY).weights(means)

        def drawn(row: int) -> Hashable:
            return bool(draw_rows(weights[row : row + 1], secure())[0])

        name = f"one liked, or all others, of {_MANY:,}, level {level}"
        found = choices(name, partial(drawn, 0), partial(drawn, 1), share=10)(samples, alpha)
        sides: list[dict[Hashable, int]] = [dict(enumerate(row.tolist())) for row in weights]
        return replace(found, exact=bench.loss(*sides))

    return check


def _unexplored() -> Check:
    """Everything was tried on the left, and on the right one video was not."""

    def policy() -> PDap:
        found = PDap(setting(**_DEEP, deepest=1), epsilon=PRIME, randomness=secure())
        for context in (LEFT, RIGHT):
            deepened(found, context, 1)
        taught(found, LEFT, (1.0, 0.0))
        while (choice := found.select(RIGHT)).arm != 1:
            found.update(choice, 1.0)
        return found

    return _pair_of_contexts("a cell with an unexplored arm", policy, UNEXPLORED)


def _better_than_the_neighbour() -> Check:
    """On the left all own videos are better than the neighbour, on the right they are worse."""

    def policy() -> PDap:
        small = setting(**_DEEP, videos=1, neighbours=1, deepest=1, training="printed")
        found = PDap(small, epsilon=PRIME, randomness=secure(), gamma=0.0)
        deepened(found, LEFT, 1)
        sides = ((LEFT, (0.9, 0.5)), (RIGHT, (0.4, 0.5)))
        while any(found.select(context).phase != "exploit" for context, _ in sides):
            for context, rewards in sides:  # what is asked for grows with ln t
                taught(found, context, rewards)
        return found

    name = "own videos above, or below, the neighbour's"
    return _pair_of_contexts(name, policy, OWN_OR_FORWARDED)


def _one_short() -> Check:
    """One visit more, and the cell is split: its children are explored anew."""

    def policy(visits: int) -> PDap:
        found = PDap(setting(split_after=4), epsilon=PRIME, randomness=secure())
        for _ in range(visits):
            found.update(found.select(LEFT), 1.0)
        return found

    name = "the visit that splits a cell"
    return _pair(name, lambda: (shown(policy(4), LEFT), shown(policy(3), LEFT)), SPLIT)


def _one_reward(level: int, draws: int) -> Check:
    """The largest ratio of all courses that `draws` choices can take, others' rewards included.

    The level's Delta u with each video explored once, as L m^(-alpha l) of the whole cube.
    """
    name = f"{draws} draws after it, Delta u of level {level}"
    return lambda *_: Checked(name, furthest(level, draws), None, 0.0, 0.0, 0)


def furthest(level: int, draws: int) -> float:
    """Nats, by running the policy in every state that the courses reach."""
    world = setting(lipschitz=2.0**-level)

    @cache
    def chance(n1: int, s1: int, n2: int, s2: int) -> Fraction:
        """Of the first video, after these numbers of choices and clicks."""
        policy = PDap(world, epsilon=PAST, randomness=secure())
        policy.select(LEFT)  # so that the cell is there
        for arm, (count, liked) in enumerate(((n1, s1), (n2, s2))):
            for visit in range(count):
                policy.update(Choice(arm, "explore", Cell(0, ())), float(visit < liked))
        return law(shown(policy, LEFT))[0]

    @cache
    def largest(n1: int, s1: int, n2: int, s2: int, sign: int) -> float:
        """sign times the log ratio from here on; s1 without the reward in question."""
        if n1 + n2 == draws + 2:
            return 0.0
        p, q = chance(n1, s1 + 1, n2, s2), chance(n1, s1, n2, s2)
        first, second = sign * bench.log(p / q), sign * bench.log((1 - p) / (1 - q))
        return max(
            first + max(largest(n1 + 1, s1 + r, n2, s2, sign) for r in (0, 1)),
            second + max(largest(n1, s1, n2 + 1, s2 + r, sign) for r in (0, 1)),
        )

    return max(largest(1, 0, 1, seen, sign) for seen in (0, 1) for sign in (1, -1))


def _raw() -> Check:
    """A reward sent while its video is explored."""
    policy = ForwardedUsers(setting(neighbours=1, horizon=1 << 20), epsilon=REWARD)
    choice = policy.select(LEFT)
    sides = (partial(policy.answer, choice, 1.0), partial(policy.answer, choice, 0.0))
    return choices("a reward while its video is explored", *sides, share=10, rule=RAW_REWARD)


def _tie() -> Check:
    """Two videos with equal means: one reward decides which is shown from then on."""

    def policy(reward: float) -> ForwardedUsers:
        found = ForwardedUsers(setting(neighbours=1, horizon=8), epsilon=REWARD)
        for liked in (0.0, reward, 0.0, 0.0):  # one video, the other, and so again
            found.update(found.select(LEFT), liked)
        return found

    name = "which mean is the larger"
    return _pair(name, lambda: (shown(policy(1.0), LEFT), shown(policy(0.0), LEFT)), LARGEST_MEAN)


def _tree(reading: Reading, horizon: int) -> Check:
    """The first reward of as many as the tree was made for: it is in a node of each level."""

    def sent(rewards: NDArray[np.float64]) -> list[float]:
        world = setting(videos=1, neighbours=1, horizon=horizon)
        policy = ForwardedUsers(world, epsilon=REWARD, reading=reading)
        # ln t visits are fewer than those before t: nothing is ever explored here.
        return [policy.answer(policy.select(LEFT), reward) for reward in rewards]

    share = _SHARE if horizon == 2 else 10 * _SHARE
    return _first_of(f"the first of {horizon}", sent, horizon, share)


def _geometric_tree(level: int) -> Check:
    """Two guests in a cell of this level."""

    def sent(rewards: NDArray[np.float64]) -> list[float]:
        world = setting(**_DEEP, videos=1, neighbours=1, deepest=level)
        policy = ForwardedUsers(world, epsilon=GEOMETRIC, geometric=True)
        while (cell := policy.partition.find(LEFT)[0]).level < level:
            policy.partition.arrived(cell)
        policy.select(LEFT)
        choice = Choice(0, "exploit", cell)
        return [policy.answer(choice, reward) for reward in rewards]

    return _first_of(f"the first of two, level {level}", sent, 2, 5 * _SHARE)


def _first_of(
    name: str, sent: Callable[[NDArray[np.float64]], list[float]], horizon: int, share: int
) -> Check:
    def check(samples: int, alpha: float) -> Checked:
        a, b = [1.0, *[0.0] * (horizon - 1)], [0.0] * horizon
        pair = laplace_pair(name, sent, a, b, distance=theory.levels(horizon), share=share)
        return on_the_bench(pair, samples=samples, alpha=alpha)

    return check


LINES: tuple[Callable[[], Line], ...] = (
    own_draws,
    own_choices,
    own_visit,
    past_reward,
    guests,
    tree_with_too_few_levels,
    tree_with_all_levels,
    geometric,
    geometric_draw,
)
