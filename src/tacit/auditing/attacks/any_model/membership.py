"""Was this person among those the recommender learned from? Any recommender, fitted many times.

Rule     Targets are in by a fair coin each, everybody else always. Shadow fits have each target in
         half of them; their coins are known. Victims' coins are guessed.
Sees     what an account that holds half of a person's items sees of the other half. A place is
         counted against the list of an account without ratings, from which the same items are left
         out: what an item gains by being popular is no evidence. Where nobody else rated both
         halves, the hidden one rises only if the person was there.
Knows    everybody's ratings, and how the recommender is fitted. Not who of the targets was there.
Source   Carlini, Chien, Nasr, Song, Terzis, Tramèr: Membership inference attacks from first
         principles (S&P 2022), the online attack; a target's two normal distributions share a
         variance, half its own and half the median of all, because shadows are few. The attack
         without reference takes what is seen as it is: Yeom and others (CSF 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.auditing.attacks.any_model.adapters import AdaptedModel, Answers
from tacit.auditing.attacks.any_model.findings import (
    CONFIDENCE,
    LISTS,
    AttackRow,
    Labels,
    judge,
)
from tacit.auditing.attacks.any_model.finished_fits import FinishedFits
from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import DataError

LEAST_LIKES = 4
"""People with fewer likes are not attacked: a half would hold one item or none."""
_STREAM_OF_HALVES = 5
"""Second word of the seed that divides a person's likes."""
_STREAM_OF_TARGETS = 6
"""Second word of the seed that draws the people under attack."""
_STREAM_OF_COINS = 7
"""Second word of the seed that tosses who is in which fit."""


@dataclass(frozen=True)
class Person:
    """A person under attack."""

    halves: tuple[Ints, Ints]
    """Item numbers of what they like, in two halves."""
    stars: Mapping[int, float]
    """Their stars by item number."""


def split_likes(ratings: Ratings, numbers: Ints, seed: int) -> list[Person]:
    """Split the likes of each of these people into two random halves; keep all of their stars."""
    people = []
    for number in numbers.tolist():
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        items = ratings.items[rows].astype(np.int64)
        generator = np.random.default_rng((seed, _STREAM_OF_HALVES, number))
        liked = generator.permutation(items[ratings.likes[rows]])
        stars = dict(zip(items.tolist(), ratings.values[rows].tolist(), strict=True))
        people.append(Person((liked[::2], liked[1::2]), stars))
    return people


class Prober:
    """One fitted recommender, asked about people.

    Args:
        answers: Answers of the fitted recommender.
        ids: Item ids by number.
        length: Length of the lists that are asked for.
    """

    def __init__(self, answers: Answers, ids: Sequence[Any], length: int) -> None:
        self.answers = answers
        self.ids = ids
        self.length = length
        # (items,) place of each item in the list of an account without ratings.
        self._place_for_new = np.full(len(ids), len(ids), dtype=np.int64)
        listed = answers.rank({}, len(ids))
        self._place_for_new[listed] = np.arange(len(listed))

    def favour(self, people: Sequence[Person], view: str) -> Floats:
        """Return (people,) how much the hidden half is favoured, each half hidden in turn."""
        halves: list[tuple[Ints, Ints]] = []  # known and hidden, two pairs for each person
        histories = []
        for person in people:
            first, second = person.halves
            halves += [(first, second), (second, first)]
            histories += [self._history(person, first), self._history(person, second)]
        gains = []
        if view == LISTS:
            lists = self.answers.rank_each(histories, self.length)
            for (known, hidden), listed in zip(halves, lists, strict=True):
                gains.append(self._gain_in_list(listed, known, hidden))
        else:
            predictions = self.answers.scores_each(histories)
            for (_, hidden), scores in zip(halves, predictions, strict=True):
                gains.append(_finite_scores(scores, hidden))
        favours = []
        for first_gains, second_gains in zip(gains[::2], gains[1::2], strict=True):
            of_person = np.concatenate([first_gains, second_gains])
            favours.append(of_person.mean() if of_person.size else 0.0)
        return np.array(favours)

    def _gain_in_list(self, listed: Ints, known: Ints, hidden: Ints) -> Floats:
        """Return how far hidden items rise above their places in the list of a new account.

        Args:
            listed: The list for the known items.
            known: Items that the account has.
            hidden: The person's other liked items.
        """
        after = np.full(len(self.ids), self.length, dtype=np.int64)
        after[listed] = np.arange(len(listed))
        ahead = np.sort(self._place_for_new[known])
        places = self._place_for_new[hidden]
        before = np.minimum(places - np.searchsorted(ahead, places), self.length)
        gained: Floats = np.log1p(before) - np.log1p(after[hidden])
        return gained

    def _history(self, person: Person, known: Ints) -> dict[Any, float]:
        """Return the person's stars of the known items, by id."""
        return {self.ids[item]: person.stars[item] for item in known.tolist()}


def _finite_scores(scores: Floats | None, items: Ints) -> Floats:
    """Return the scores of these items that are numbers."""
    if scores is None:
        return np.zeros(0)
    return scores[items][np.isfinite(scores[items])]


def attack_membership(
    model: AdaptedModel,
    ratings: Ratings,
    *,
    views: Sequence[str] = (LISTS,),
    targets: int = 300,
    shadows: int = 16,
    victims: int = 8,
    length: int = 100,
    delta: float = 1e-6,
    level: float = 1 - CONFIDENCE,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
    finished: FinishedFits | None = None,
) -> list[AttackRow]:
    """Attack membership by refitting: two rows a view, without reference and by likelihood ratio.

    Args:
        model: The recommender.
        ratings: Everybody's ratings.
        views: `LISTS` and perhaps `SCORES`: what an account sees.
        targets: At most so many people who are in by a coin.
        shadows: Fits whose coins the attacker knows.
        victims: Fits whose coins are guessed.
        length: Length of the lists.
        delta: Delta at which epsilon is bounded.
        level: Chance with which each row's bound may be wrong.
        seed: Seed of coins and halves.
        progress: Called with 1 after each fit.
        finished: Fits that are finished, and to which others are added; None: none yet.
    """
    chosen = _targets(ratings, targets, seed)
    people = split_likes(ratings, chosen, seed)
    generator = np.random.default_rng((seed, _STREAM_OF_COINS))
    half = np.arange(shadows) % 2 == 0
    known = np.array([generator.permutation(half) for _ in people]).T
    coins = generator.random((victims, len(people))) < 0.5
    inside = np.vstack([known, coins])
    seen: dict[str, list[Floats]] = {view: [] for view in views}
    finished = FinishedFits() if finished is None else finished
    for number, labels in enumerate(inside):
        name = f"membership {number} of {shadows} and {victims}, {views}"
        favours = finished.find(name)
        if favours is None:
            # People without ratings keep their number.
            members_only = ratings.where(~np.isin(ratings.users, chosen[~labels]))
            prober = Prober(model.fit(members_only), ratings.item_ids.tolist(), length)
            favours = [prober.favour(people, view).tolist() for view in views]
            finished.add(name, favours)
        for view, favour in zip(views, favours, strict=True):
            seen[view].append(np.array(favour))
        progress(1)
    rows = []
    for view in views:
        table = np.array(seen[view])
        plain = table[shadows:]
        ratios = likelihood_ratios(table[:shadows], known, plain)
        rows.append(judge(f"membership-{view}", coins, plain, delta=delta, level=level))
        rows.append(judge(f"membership-{view}-lira", coins, ratios, delta=delta, level=level))
    return rows


def attack_membership_of_fixed_model(
    model: AdaptedModel, ratings: Ratings, inside: Labels, *, length: int, seed: int
) -> list[AttackRow]:
    """Attack membership in a recommender that cannot be fitted again: one row, without reference.

    Args:
        model: The recommender.
        ratings: Ratings of people who were there and of others.
        inside: (n_users,) who was there; not by a coin, so there is no bound.
        length: Length of the lists.
        seed: Seed of halves.

    Raises:
        DataError: Of the people under attack, all were there or none.
    """
    chosen = _targets(ratings, ratings.n_users, seed)
    if not 0 < inside[chosen].sum() < len(chosen):
        raise DataError("membership is attacked with people who were there and people who were not")
    prober = Prober(model.fit(ratings), ratings.item_ids.tolist(), length)
    scores = prober.favour(split_likes(ratings, chosen, seed), LISTS)
    return [judge(f"membership-{LISTS}", inside[chosen][None], scores[None], delta=None)]


def likelihood_ratios(shadows: Floats, inside: Labels, victims: Floats) -> Floats:
    """Return (victims, people) log likelihood ratios of in and out.

    What is seen of a person is normal, with a mean for in and one for out, estimated from the
    shadows. Both have the variance v: half the person's own and half the median of all people's.
        log ratio = ((seen - mean_out)^2 - (seen - mean_in)^2) / (2 v).

    Args:
        shadows: (shadows, people) what was seen in fits whose coins are known.
        inside: (shadows, people) these coins.
        victims: (victims, people) what was seen in the other fits.
    """
    mean_in = _mean_where(inside, shadows)
    mean_out = _mean_where(~inside, shadows)
    deviations = np.where(inside, shadows - mean_in, shadows - mean_out)
    own = (deviations**2).mean(axis=0)
    variance = np.maximum(own / 2 + np.median(own) / 2, 1e-12)
    ratios: Floats = ((victims - mean_out) ** 2 - (victims - mean_in) ** 2) / (2 * variance)
    return ratios


def _mean_where(mask: Labels, values: Floats) -> Floats:
    """Return the mean of each column over the rows of the mask; 0 where there is none."""
    means: Floats = np.where(mask, values, 0.0).sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    return means


def _targets(ratings: Ratings, most: int, seed: int) -> Ints:
    """Return the numbers of at most so many people with enough likes, drawn at random."""
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    able = np.flatnonzero(likes >= LEAST_LIKES)
    if len(able) < 20:
        raise DataError(
            "there are too few people to attack",
            found=f"{len(able)} people with {LEAST_LIKES} likes or more",
            expected="20 or more",
            fix="Use more ratings.",
        )
    if most < len(able):
        # Two thirds of the people stay in every fit.
        most = min(most, max(10, len(able) // 3))
    shuffled = np.random.default_rng((seed, _STREAM_OF_TARGETS)).permutation(able)
    return np.sort(shuffled[:most])
