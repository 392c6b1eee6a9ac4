"""Was this person among those a recommender learned from? Attacks, and games of several fits.

Rule     Some people are always in the ratings. For each of the others, the targets, a fair coin
         decides whether they are in. The attacker scores the targets, guesses that those with the
         highest scores are in and those with the lowest are out, and makes no guess about the
         targets between.

Source   lists: Calandrino, Kilzer, Narayanan, Felten, Shmatikov: You might also like: privacy risks
         of collaborative filtering (S&P 2011), which reads related-item lists; here the attacker
         reads the list of an account with one item instead. predictions: after Yeom, Giacomelli,
         Fredrikson, Jha: Privacy risk in machine learning (CSF 2018). epsilon from guesses:
         Steinke, Nasr, Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023).
Knows    the target's ratings, as a friend or the owner of another data set would. The attacker does
         not know who else is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import optimize, stats

from tacit.auditing.attacks.auc_bounds import auc, mean_interval
from tacit.auditing.attacks.base import Floats, Labels
from tacit.auditing.claims import Advance, Study
from tacit.auditing.empirical import ALPHA
from tacit.errors import ConfigError, DataError
from tacit.recommenders.base import History, Recommender

TargetRatings = Mapping[Any, float]
"""The target's ratings: item id to stars."""

_SHARE_GUESSED = 0.5
"""Share of the targets about whom guesses are made: half of them at each end of the scores."""
FITS = 10
"""Fits of each game in an audit."""
FEW_FITS = 2
"""Fits of each game in a short audit."""


@dataclass(frozen=True)
class FromLists:
    """An attack that reads lists of accounts with ONE of the target's items.

    Such an account gives its item the most stars. The score is by how much the target's other
    items rise in its list. Where only people who rated both items relate one item to the other, and
    no other person did, the other item rises far only if the target was in.
    """

    length: int
    """Length of a list."""
    best: float
    """Top of the scale, in stars."""
    name: str = "lists"
    """Name of the attack."""

    def score(self, model: Recommender, target_ratings: TargetRatings) -> float:
        """Return the mean rise of the target's other items, in ranks, divided by `length`.

        The rise is against the list of an account without ratings. The mean is over all ordered
        pairs of two of the target's items: that of the account, and the other one. The score is 0.0
        for a target with fewer than two ratings.
        """
        ranks_for_new_account = self._ranks(model, {})
        unlisted = self.length + 1
        gains = []
        for item in target_ratings:
            ranks = self._ranks(model, {item: self.best})
            for other in target_ratings:
                if other != item:
                    before = ranks_for_new_account.get(other, unlisted)
                    gains.append(before - ranks.get(other, unlisted))
        return float(np.mean(gains)) / self.length if gains else 0.0

    def _ranks(self, model: Recommender, history: History) -> dict[Any, int]:
        """Return the rank, from 1, of each item in the list for a history."""
        listed = model.recommend(history=history, n=self.length)
        return {row.item_id: row.rank for row in listed}


@dataclass(frozen=True)
class FromPredictions:
    """An attack that reads predictions for accounts with ONE of the target's ratings."""

    name: str = "predictions"
    """Name of the attack."""

    def score(self, model: Recommender, target_ratings: TargetRatings) -> float:
        """Return by how many stars the predictions come nearer to the target's other ratings.

        Errors of predictions for an account with one rating are compared with those for an account
        without ratings, on average over all ordered pairs of two of the target's ratings. The score
        is 0.0 for a target with fewer than two ratings, and if no pair has predictions.
        """
        if len(target_ratings) < 2:
            return 0.0
        items = list(target_ratings)
        stars = np.array([target_ratings[item] for item in items])
        errors_for_new_account = np.abs(model.predict(items, history={}) - stars)
        gains = []
        for index, item in enumerate(items):
            history = {item: target_ratings[item]}
            errors = np.abs(model.predict(items, history=history) - stars)
            gains.append(np.delete(errors_for_new_account - errors, index))
        all_gains = np.concatenate(gains)
        # Items outside the target domain have no prediction.
        all_gains = all_gains[np.isfinite(all_gains)]
        return float(all_gains.mean()) if all_gains.size else 0.0


def count_guesses(labels: Labels, scores: Floats, share: float = 1.0) -> tuple[int, int]:
    """Guess that people of the highest scores are in and those of the lowest are out.

    Args:
        labels: (people,) 1 in, 0 out.
        scores: (people,) scores.
        share: Share of the people about whom a guess is made, half of them at each end; at least
            one person at each end.

    Returns:
        The number of right guesses, and the number of all guesses.

    Raises:
        DataError: Labels and scores differ in number, or there are fewer than two people.
    """
    if len(labels) != len(scores) or len(labels) < 2:
        raise DataError("guesses need two people or more, and one score for each")
    # Both ends have the same number: with 15 people and share 1, it is 7.
    at_each_end = max(1, min(round(share * len(scores) / 2), len(scores) // 2))
    order = np.argsort(scores, kind="stable")
    right_out = int((labels[order[:at_each_end]] == 0).sum())
    right_in = int((labels[order[-at_each_end:]] == 1).sum())
    return right_out + right_in, 2 * at_each_end


def least_epsilon(
    right: int, guesses: int, *, people: int, delta: float = 0.0, level: float = 0.05
) -> float:
    """Return a lower bound of epsilon from guesses about who was in, if fair coins decided that.

    With a chance of at least 1 - level the bound is at most the epsilon of an (epsilon,
    delta)-private training. If delta is 0, the bound is ln(p / (1 - p)), with p Clopper and
    Pearson's lower limit of the chance of a right guess. The guesses of one run depend on each
    other, but those against a private training are right no more often than independent ones
    (Steinke et al., Theorem 5.2).

    Args:
        right: Number of right guesses.
        guesses: Number of all guesses.
        people: Number of people for whose presence a coin was tossed, with or without a guess about
            them.
        delta: Delta of the training.
        level: Chance with which the bound may be too large.

    Returns:
        The bound in nats, at least 0; infinity if the guesses would refute even epsilon 50.

    Raises:
        ConfigError: Not 0 <= right <= guesses <= people, or there are no guesses.
    """
    if not 0 <= right <= guesses <= people or guesses == 0:
        raise ConfigError(
            "0 <= right <= guesses <= people is needed, and one guess or more; got "
            f"{right} right of {guesses} guesses about {people} people."
        )

    def chance_of_so_many(epsilon: float) -> float:
        """Return an upper bound of the chance that `right` guesses or more are right.

        With B ~ Binomial(guesses, e^epsilon / (1 + e^epsilon)) it is
            P(B >= right) + 2 people delta max_{1 <= i <= right} P(right - i <= B < right) / i.
        """
        chance_of_right_guess = 1 / (1 + math.exp(-epsilon))
        tail = float(stats.binom.sf(right - 1, guesses, chance_of_right_guess))
        if delta == 0:
            return tail
        fewer = np.arange(1, right + 1)
        just_below = stats.binom.sf(right - 1 - fewer, guesses, chance_of_right_guess) - tail
        return tail + 2 * people * delta * float((just_below / fewer).max(initial=0.0))

    if chance_of_so_many(0.0) > level:
        return 0.0
    if chance_of_so_many(50.0) <= level:
        return math.inf
    return float(optimize.brentq(lambda epsilon: chance_of_so_many(epsilon) - level, 0.0, 50.0))


class Round(NamedTuple):
    """One round of a game: one fit, and the attacks on it."""

    labels: Labels
    """(targets,) 1 for targets who were in, 0 for those who were out."""
    scores: Mapping[str, Floats]
    """(targets,) scores by the name of each attack; a higher score means more likely in."""


GameVerdict = Literal["violation", "no violation found", "weak audit", "no claim"]
"""Verdict on one attack: a verdict of `claims.Verdict`, or "no claim" if the method claims none."""


@dataclass(frozen=True)
class Game:
    """A method under attack, and its claim."""

    method: str
    """Name of the method."""
    play_round: Callable[[np.random.Generator], Round]
    """Draws people and who of them is in, fits the method to these, and attacks the fit."""
    epsilon: float | None = None
    """Epsilon that the method claims; None: no claim. Then some attack has to guess better
    than a coin."""
    delta: float | None = None
    """Delta of the claim; None is taken as 0."""


@dataclass(frozen=True)
class GameResult:
    """Findings of one attack on a method, over all rounds."""

    method: str
    """Name of the method."""
    attack: str
    """Name of the attack."""
    epsilon: float | None
    """Epsilon that the method claims; None: no claim."""
    delta: float | None
    """Delta of the claim."""
    auc: float
    """Mean AUC over the rounds."""
    low: float
    """Lower end of its 95 % interval (Student's t)."""
    high: float
    """Upper end of that interval."""
    lower_bound: float
    """Lower bound of epsilon, in nats, from the guesses of all rounds together."""
    right: int
    """Number of right guesses."""
    guesses: int
    """Number of all guesses."""
    people: int
    """Number of targets, summed over the rounds."""
    fits: int
    """Number of rounds."""
    alpha: float
    """Chance with which the lower bound may be too large, at most."""
    verdict: GameVerdict
    """"violation" if the lower bound exceeds the claim; "weak audit" if it would not even if all
    guesses were right; otherwise "no violation found". "no claim" if there is no claim."""


def play_game(
    game: Game, *, fits: int = FITS, seed: int = 0, progress: Advance = lambda _: None
) -> list[GameResult]:
    """Play the rounds of a game, and return the findings of each attack.

    Args:
        game: The game.
        fits: Number of rounds, each with one call of `game.play_round`.
        seed: Seed of all rounds.
        progress: Called with 1 after each round.
    """
    rounds = []
    for number in range(fits):
        rounds.append(game.play_round(np.random.default_rng((seed, number))))
        progress(1)
    return [_judge_attack(game, attack, rounds) for attack in rounds[0].scores]


def _judge_attack(game: Game, attack: str, rounds: Sequence[Round]) -> GameResult:
    """Compute the findings of one attack from all rounds of a game, and give the verdict."""
    areas = []
    right = guesses = people = 0
    for this_round in rounds:
        scores = this_round.scores[attack]
        areas.append(auc(this_round.labels, scores))
        right_in_round, guesses_in_round = count_guesses(this_round.labels, scores, _SHARE_GUESSED)
        right += right_in_round
        guesses += guesses_in_round
        people += len(this_round.labels)
    mean_auc, low, high = mean_interval(areas)
    delta = game.delta or 0.0
    bound = least_epsilon(right, guesses, people=people, delta=delta, level=ALPHA)
    bound_if_all_right = least_epsilon(guesses, guesses, people=people, delta=delta, level=ALPHA)
    verdict: GameVerdict = "no violation found"
    if game.epsilon is None:
        verdict = "no claim"
    elif bound > game.epsilon:
        verdict = "violation"
    elif bound_if_all_right <= game.epsilon:  # no guesses could have refuted the claim
        verdict = "weak audit"
    return GameResult(
        method=game.method,
        attack=attack,
        epsilon=game.epsilon,
        delta=game.delta,
        auc=mean_auc,
        low=low,
        high=high,
        lower_bound=bound,
        right=right,
        guesses=guesses,
        people=people,
        fits=len(rounds),
        alpha=ALPHA,
        verdict=verdict,
    )


def control_works(rows: Sequence[GameResult]) -> bool:
    """Return whether some attack's AUC on a method without a claim is above 0.5 at 95 % confidence.

    If not, the attacks are too weak, and "no violation found" says nothing.
    """
    return any(row.epsilon is None and row.low > 0.5 for row in rows)


def membership_study(games: Callable[[], Sequence[Game]], method: str, attack: str) -> Study:
    """Return a study that plays games as a part of an audit.

    Args:
        games: Returns the games; as a control, some of their methods make no claim.
        method: Heading of the table's column with the names of the methods.
        attack: Heading of the table's column with the names of the attacks.
    """
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
        """Play all games; return their rows, and a sentence for each unexpected finding."""
        fits = FEW_FITS if short else FITS
        rows: list[GameResult] = []
        for game in games():
            rows += play_game(game, fits=fits, progress=advance)
        reasons = {"violation": "membership guessed beyond the claim"}
        if not short:
            reasons["weak audit"] = "no guesses about so few people could refute the claim"
        failed = [row for row in rows if row.verdict in reasons]
        unexpected = [f"{row.method}, {row.attack}: {reasons[row.verdict]}" for row in failed]
        if not (short or control_works(rows)):
            unexpected.append(
                "no attack guesses better than a coin about a method without a claim: the attacks "
                "are too weak"
            )
        return rows, unexpected

    def chance_of_false_alarm(rows: list[GameResult]) -> float:
        """Sum the chances of a false violation over the rows of methods with a claim."""
        return sum(row.alpha for row in rows if row.epsilon is not None)

    return Study(
        name="membership",
        columns=columns,
        steps=lambda _, short: len(games()) * (FEW_FITS if short else FITS),
        run=run,
        false_alarm=chance_of_false_alarm,
    )
