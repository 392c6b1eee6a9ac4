"""Was this person among those a recommender learned from? Guesses, and a game against whole fits.

Rule     Some people are always in. Of the others, the targets, each is in by a fair coin. The
         attacker scores the targets and guesses about those at both ends.

Source   lists: Calandrino, Kilzer, Narayanan, Felten, Shmatikov: You might also like: privacy risks
         of collaborative filtering (S&P 2011), which reads related-item lists; here accounts that
         the attacker made for the purpose stand in for them. predictions: after Yeom, Giacomelli,
         Fredrikson, Jha: Privacy risk in machine learning (CSF 2018). Guesses into epsilon:
         Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023).
Knows    the person's ratings, as a friend or a data set elsewhere would. Not who else was there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import optimize, stats

from tacit.auditing.attacks.auc_bounds import auc, mean_interval
from tacit.auditing.attacks.base import Floats, Labels
from tacit.auditing.claims import Advance, Study
from tacit.auditing.empirical import ALPHA
from tacit.errors import ConfigError, DataError
from tacit.recommenders.base import History, Recommender

Known = Mapping[Any, float]
"""The target's ratings: item id to stars."""

_SURE = 0.5  # share of the targets who are guessed about: those of the highest and lowest scores
FITS, FEW_FITS = 10, 2


@dataclass(frozen=True)
class FromLists:
    """Scores by what an account with ONE of the target's items sees of the others in lists.

    The account gives it the most stars. Where nobody else rated both, the others rise only if the
    target was there.
    """

    length: int
    """Length of a list."""
    best: float
    """Top of the scale, in stars."""
    name: str = "lists"
    """Name of the attack."""

    def score(self, model: Recommender, known: Known) -> float:
        """Return the mean ranks gained against an account without ratings, over the list's length.

        0.0 for a person with one rating.
        """
        before = self._ranks(model, {})
        below = self.length + 1
        gains = []
        for item in known:
            after = self._ranks(model, {item: self.best})
            others = [other for other in known if other != item]
            gains += [before.get(other, below) - after.get(other, below) for other in others]
        return float(np.mean(gains)) / self.length if gains else 0.0

    def _ranks(self, model: Recommender, history: History) -> dict[Any, int]:
        """Return the rank of each item in the list for a history."""
        listed = model.recommend(history=history, n=self.length)
        return {row.item_id: row.rank for row in listed}


@dataclass(frozen=True)
class FromPredictions:
    """Scores by how far predictions move towards the target's ratings if one of them is known."""

    name: str = "predictions"
    """Name of the attack."""

    def score(self, model: Recommender, known: Known) -> float:
        """Return the mean stars by which predictions come nearer to the target's ratings."""
        items = list(known)
        given = np.array([known[item] for item in items])
        before = np.abs(model.predict(items, history={}) - given)
        gains = []
        for place, item in enumerate(items):
            after = np.abs(model.predict(items, history={item: known[item]}) - given)
            gains.append(np.delete(before - after, place))
        nearer = np.concatenate(gains)
        nearer = nearer[np.isfinite(nearer)]  # items outside the target domain have no prediction
        return float(nearer.mean()) if nearer.size else 0.0


def count_guesses(labels: Labels, scores: Floats, share: float = 1.0) -> tuple[int, int]:
    """Guess that the highest scores are in and the lowest out: count right and all guesses.

    Args:
        labels: (people,) 1 in, 0 out.
        scores: (people,) scores.
        share: Share of the people who are guessed about, half of them at each end.

    Returns:
        Number of guesses that were right, and number of guesses.
    """
    if len(labels) != len(scores) or len(labels) < 2:
        raise DataError("guesses need one score per person, of two people or more")
    made = max(1, min(round(share * len(scores) / 2), len(scores) // 2))  # 7 of 15 at each end
    order = np.argsort(scores, kind="stable")
    right = int((labels[order[:made]] == 0).sum() + (labels[order[-made:]] == 1).sum())
    return right, 2 * made


def least_epsilon(
    right: int, made: int, *, people: int, delta: float = 0.0, level: float = 0.05
) -> float:
    """Lower bound of epsilon from guesses about people who were each in or out by a fair coin.

    With chance 1 - level it is at most the epsilon of an (epsilon, delta)-private training. If
    delta is 0 this is Clopper and Pearson's limit p of the chance of a right guess, as
    ln(p / (1 - p)): guesses of one run depend on each other, but private ones are right no more
    often than independent ones (Steinke et al., Theorem 5.2).

    Args:
        right: Guesses that were right.
        made: All guesses.
        people: All people whose presence was tossed, guessed about or not.
        delta: Delta of the training.
        level: Chance with which the bound may be wrong.
    """
    if not 0 <= right <= made <= people or made == 0:
        raise ConfigError(f"{right} right of {made} guesses about {people} people is no count.")

    def chance(epsilon: float) -> float:
        """Return an upper bound of the chance that so many guesses or more are right."""
        p = 1 / (1 + math.exp(-epsilon))
        tail = float(stats.binom.sf(right - 1, made, p))
        if delta == 0:
            return tail
        fewer = np.arange(1, right + 1)
        within = stats.binom.sf(right - 1 - fewer, made, p) - tail
        return tail + 2 * people * delta * float((within / fewer).max(initial=0.0))

    if chance(0.0) > level:
        return 0.0
    if chance(50.0) <= level:
        return math.inf
    return float(optimize.brentq(lambda epsilon: chance(epsilon) - level, 0.0, 50.0))


Scored = tuple[Labels, Mapping[str, Floats]]
"""Who was in, and each attack's scores of the targets."""
Verdict = Literal["violation", "no violation found", "weak audit", "no claim"]


@dataclass(frozen=True)
class Game:
    """A method that is attacked, and what it claims."""

    method: str
    """Name of the method."""
    once: Callable[[np.random.Generator], Scored]
    """Draws new people and coins, fits once, and attacks."""
    epsilon: float | None = None
    """Epsilon that is claimed; None: nothing, and the attacks have to work."""
    delta: float | None = None
    """Delta of the claim."""


@dataclass(frozen=True)
class GameResult:
    """Findings of one attack on a method, over all fits."""

    method: str
    """Name of the method."""
    attack: str
    """Name of the attack."""
    epsilon: float | None
    """Epsilon that is claimed; None: nothing."""
    delta: float | None
    """Delta of the claim."""
    auc: float
    """Mean AUC over fits."""
    low: float
    """Lower end of its 95 % interval (Student's t)."""
    high: float
    """Upper end of that interval."""
    lower_bound: float
    """Lower bound of epsilon, by the guesses of all fits together."""
    right: int
    """Guesses that were right."""
    guesses: int
    """Guesses that were made."""
    people: int
    """People of all fits, guessed about or not."""
    fits: int
    """Number of fits."""
    alpha: float
    """Chance with which the lower bound may be wrong, at most."""
    verdict: Verdict
    """"weak audit" where not even right guesses about everybody would refute the claim."""


def play(
    game: Game, *, fits: int = FITS, seed: int = 0, progress: Advance = lambda _: None
) -> list[GameResult]:
    """Play a game, and return one row for each attack."""
    rounds = []
    for fit in range(fits):
        rounds.append(game.once(np.random.default_rng((seed, fit))))
        progress(1)
    return [_judge(game, attack, rounds) for attack in rounds[0][1]]


def _judge(game: Game, attack: str, rounds: list[Scored]) -> GameResult:
    """Judge one attack over the game's rounds."""
    pairs = [(inside, scores[attack]) for inside, scores in rounds]
    mean_auc, low, high = mean_interval([auc(inside, given) for inside, given in pairs])
    counts = [count_guesses(inside, given, _SURE) for inside, given in pairs]
    right = sum(right_in_round for right_in_round, _ in counts)
    made = sum(made_in_round for _, made_in_round in counts)
    people = sum(len(inside) for inside, _ in pairs)
    delta = game.delta or 0.0
    bound = least_epsilon(right, made, people=people, delta=delta, level=ALPHA)
    bound_if_all_right = least_epsilon(made, made, people=people, delta=delta, level=ALPHA)
    verdict: Verdict = "no violation found"
    if game.epsilon is None:
        verdict = "no claim"
    elif bound > game.epsilon:
        verdict = "violation"
    elif bound_if_all_right <= game.epsilon:  # no guesses could have refuted the claim
        verdict = "weak audit"
    return GameResult(
        game.method,
        attack,
        game.epsilon,
        game.delta,
        mean_auc,
        low,
        high,
        bound,
        right,
        made,
        people,
        len(pairs),
        ALPHA,
        verdict,
    )


def control_works(rows: Sequence[GameResult]) -> bool:
    """Tell whether some attack beats a coin where nothing is claimed; else a pass says nothing."""
    return any(row.epsilon is None and row.low > 0.5 for row in rows)


def study(games: Callable[[], Sequence[Game]], method: str, attack: str) -> Study:
    """Make the games a part of an audit. method, attack: the headings of these two columns."""
    columns: dict[str, Callable[[Any], object]] = {
        method: lambda row: row.method,
        attack: lambda row: row.attack,
        "claim": lambda row: row.epsilon,
        "AUC": lambda row: row.auc,
        "95 %": lambda row: f"{row.low:.3f} to {row.high:.3f}",
        "bound": lambda row: row.lower_bound,
        "verdict": lambda row: row.verdict,
    }

    def run(_: str | None, short: bool, advance: Advance) -> tuple[list[GameResult], list[str]]:
        fits = FEW_FITS if short else FITS
        rows: list[GameResult] = []
        for game in games():
            rows += play(game, fits=fits, progress=advance)
        reasons = {"violation": "membership guessed beyond the claim"}
        if not short:
            reasons["weak audit"] = "no guesses about so few people could refute the claim"
        refused = [row for row in rows if row.verdict in reasons]
        wrong = [f"{row.method}, {row.attack}: {reasons[row.verdict]}" for row in refused]
        if not (short or control_works(rows)):
            wrong.append("the membership attack fails without noise: its silence says nothing")
        return rows, wrong

    return Study(
        "membership",
        columns,
        lambda _, short: len(games()) * (FEW_FITS if short else FITS),
        run,
        # Without noise nothing is left to chance, so that the control does not fail by it.
        lambda rows: sum(row.alpha for row in rows if row.epsilon is not None),
    )
