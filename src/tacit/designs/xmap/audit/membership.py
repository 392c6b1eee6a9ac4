"""Who was in the ratings that X-Map learned from? A game, played against whole fits.

Rule     Some people are always in. Of the others, the targets, each is in by a fair coin. The
         attacker knows what every target rated and asks the fitted recommender through accounts of
         their own; then they guess. Targets rate items that others seldom rate together, which is
         what the attack feeds on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from tacit.auditing.attacks.judging import auc
from tacit.auditing.attacks.membership import (
    FromLists,
    FromPredictions,
    MembershipAttack,
    guesses,
    least_epsilon,
)
from tacit.auditing.empirical import ALPHA
from tacit.designs.xmap import XMap
from tacit.designs.xmap.audit.tables import SCALE, SOURCE, TARGET, Stars, ratings
from tacit.engine.local import LocalEngine

ITEMS, PEOPLE, TARGETS, RATED = 50, 120, 60, 4
"""Of each domain; people who are always in; targets; ratings of each target in each domain."""
FITS = 10
_SURE = 0.5  # share of the targets who are guessed about: those of the highest and lowest scores
ATTACKS: tuple[MembershipAttack, ...] = (FromLists(20, SCALE.maximum), FromPredictions())


@dataclass(frozen=True)
class Game:
    """epsilon, delta: what the recommender claims; None: it claims nothing."""

    method: str
    settings: Mapping[str, Any]
    epsilon: float | None
    delta: float | None


GAMES = (
    Game("nx-map", {"variant": "published", "epsilon": math.inf, "k": 10}, None, None),
    Game("x-map-sound", {"epsilon": 1.0, "delta": 1e-6, "stars": True}, 1.0, 1e-6),
)
"""The control, in which the attack has to work, and the guarantee, under which it has to fail."""


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
    game: Game,
    attacks: Sequence[MembershipAttack] = ATTACKS,
    *,
    fits: int = FITS,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Played]:
    """Fit, ask and guess, with new people and new coins for every fit; one row per attack."""
    labels, scores = [], []
    for fit in range(fits):
        inside, targets, model = _fitted(game, np.random.default_rng((seed, fit)))
        labels.append(inside.astype(np.int64))
        scores.append([[attack.score(model, person) for person in targets] for attack in attacks])
        progress(1)
    return [
        _judged(game, attack.name, labels, [np.array(each[place]) for each in scores])
        for place, attack in enumerate(attacks)
    ]


def _fitted(game: Game, generator: np.random.Generator) -> tuple[Any, list[Stars], XMap]:
    """Who of the targets is in, what they rated, and the fitted recommender."""
    books, films = ([f"{kind} {n:02}" for n in range(ITEMS)] for kind in ("book", "film"))
    fame = 1 / (1 + np.arange(ITEMS))

    def rows(people: int, chances: Any) -> list[Stars]:
        return [
            {
                str(item): float(generator.integers(1, 6))
                for domain in (books, films)
                for item in generator.choice(
                    domain, RATED, replace=False, p=chances / chances.sum()
                )
            }
            for _ in range(people)
        ]

    others, targets = rows(PEOPLE, fame), rows(TARGETS, np.ones(ITEMS))
    inside = generator.random(TARGETS) < 0.5
    present = [person for person, there in zip(targets, inside, strict=True) if there]
    items = dict.fromkeys(books, SOURCE) | dict.fromkeys(films, TARGET)
    model = XMap(source=SOURCE, target=TARGET, engine=LocalEngine(), **game.settings)
    return inside, targets, model.fit(ratings([*others, *present], items))


def _judged(game: Game, attack: str, labels: list[Any], scores: list[Any]) -> Played:
    areas = [auc(inside, given) for inside, given in zip(labels, scores, strict=True)]
    middle = float(np.mean(areas))
    half = 0.0
    if len(areas) > 1:
        error = float(np.std(areas, ddof=1)) / math.sqrt(len(areas))
        half = float(stats.t.ppf(0.975, len(areas) - 1)) * error
    told = [guesses(inside, given, _SURE) for inside, given in zip(labels, scores, strict=True)]
    right, made = (sum(each[place] for each in told) for place in (0, 1))
    people = sum(map(len, labels))
    bound = least_epsilon(right, made, people=people, delta=game.delta or 0.0, level=ALPHA)
    return Played(
        game.method,
        attack,
        game.epsilon,
        game.delta,
        middle,
        max(0.0, middle - half),
        min(1.0, middle + half),
        bound,
        right,
        made,
        people,
        len(areas),
        ALPHA,
        _verdict(game, bound),
    )


def _verdict(game: Game, bound: float) -> Literal["violation", "no violation found", "no claim"]:
    if game.epsilon is None:
        return "no claim"
    return "violation" if bound > game.epsilon else "no violation found"


def control_works(rows: Sequence[Played]) -> bool:
    """Whether some attack beats a coin on what claims nothing. If not, a pass is worth nothing."""
    return any(row.epsilon is None and row.low > 0.5 for row in rows)
