"""Who was in the data? A game against whole fits, each target in or out by a fair coin.

Source  guesses into epsilon: Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run
        (NeurIPS 2023). Targets of one fit depend on each other, and the bound holds all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tacit.auditing.attacks.base import Floats, Labels
from tacit.auditing.attacks.judging import auc
from tacit.auditing.attacks.membership import guesses, least_epsilon
from tacit.auditing.empirical import ALPHA

_SURE = 0.5  # share of the targets who are guessed about: those of the highest and lowest scores
Scored = tuple[Labels, Mapping[str, Floats]]
"""Who was in, and each attack's scores of the targets."""


@dataclass(frozen=True)
class Game:
    """once: new people, new coins, a fit and its attacks. epsilon, delta: what is claimed; None:
    nothing, and the attacks have to work."""

    method: str
    once: Callable[[np.random.Generator], Scored]
    epsilon: float | None = None
    delta: float | None = None


@dataclass(frozen=True)
class Played:
    """auc: mean over fits, low to high its interval at 95 % (Student's t). lower_bound: of epsilon
    by the guesses of all fits together, wrong with a chance of at most alpha."""

    method: str
    attack: str
    epsilon: float | None
    delta: float | None
    auc: float
    low: float
    high: float
    lower_bound: float
    right: int
    guesses: int
    people: int
    fits: int
    alpha: float
    verdict: Literal["violation", "no violation found", "no claim"]


def play(
    game: Game, *, fits: int, seed: int = 0, progress: Callable[[int], None] = lambda _: None
) -> list[Played]:
    """One row per attack."""
    rounds = []
    for fit in range(fits):
        rounds.append(game.once(np.random.default_rng((seed, fit))))
        progress(1)
    return [_judged(game, attack, rounds) for attack in rounds[0][1]]


def _judged(game: Game, attack: str, rounds: list[Scored]) -> Played:
    pairs = [(inside, scores[attack]) for inside, scores in rounds]
    areas = [auc(inside, given) for inside, given in pairs]
    middle, half = float(np.mean(areas)), 0.0
    if len(areas) > 1:
        error = float(np.std(areas, ddof=1)) / math.sqrt(len(areas))
        half = float(stats.t.ppf(0.975, len(areas) - 1)) * error
    told = [guesses(inside, given, _SURE) for inside, given in pairs]
    right, made = (sum(each[place] for each in told) for place in (0, 1))
    people = sum(len(inside) for inside, _ in pairs)
    bound = least_epsilon(right, made, people=people, delta=game.delta or 0.0, level=ALPHA)
    verdict: Literal["violation", "no violation found", "no claim"] = "no claim"
    if game.epsilon is not None:
        verdict = "violation" if bound > game.epsilon else "no violation found"
    return Played(
        game.method, attack, game.epsilon, game.delta, middle, max(0.0, middle - half),
        min(1.0, middle + half), bound, right, made, people, len(areas), ALPHA, verdict,
    )  # fmt: skip


def control_works(rows: list[Played]) -> bool:
    """Whether some attack beats a coin on what claims nothing. If not, a pass is worth nothing."""
    return any(row.epsilon is None and row.low > 0.5 for row in rows)
