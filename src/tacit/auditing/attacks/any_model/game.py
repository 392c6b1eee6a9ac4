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

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.attacks.any_model.adapters import Adapted, Answers
from tacit.auditing.attacks.base import Floats, Ints
from tacit.auditing.attacks.judging import auc, mean_interval
from tacit.auditing.attacks.membership import guesses, least_epsilon
from tacit.data.ratings import Ratings
from tacit.errors import DataError

Labels = NDArray[np.bool_]
LISTS, SCORES = "lists", "predictions"
SHARES = (0.05, 0.2, 0.5, 1.0)
"""Of the people who are guessed about; the bounds of all of them share the level."""
CONFIDENCE = 0.95
LEAST_LIKES = 4


@dataclass(frozen=True)
class Person:
    """Two halves of what a person likes, and their stars by item number."""

    halves: tuple[Ints, Ints]
    stars: Mapping[int, float]


def people_of(ratings: Ratings, numbers: Ints, seed: int) -> list[Person]:
    """The people of these numbers; their likes are halved at random."""
    found = []
    for number in numbers.tolist():
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        items = ratings.items[rows].astype(np.int64)
        generator = np.random.default_rng((seed, 5, number))
        mixed = generator.permutation(items[ratings.likes[rows]])
        stars = dict(zip(items.tolist(), ratings.values[rows].tolist(), strict=True))
        found.append(Person((mixed[::2], mixed[1::2]), stars))
    return found


class Prober:
    """One fitted recommender, asked about people. length: of the lists."""

    def __init__(self, answers: Answers, ids: Sequence[Any], length: int) -> None:
        self.answers, self.ids, self.length = answers, ids, length
        self._before = np.full(len(ids), len(ids), dtype=np.int64)
        popular = answers.ranked({}, len(ids))
        self._before[popular] = np.arange(len(popular))

    def about(self, people: Sequence[Person], view: str) -> Floats:
        """(people,) how much the hidden half is favoured, both halves in turn."""
        one = self._by_list if view == LISTS else self._by_score
        found = []
        for each in people:
            turns = (each.halves, each.halves[::-1])
            favour = np.concatenate([one(each, known, hidden) for known, hidden in turns])
            found.append(favour.mean() if favour.size else 0.0)
        return np.array(found)

    def _by_list(self, person: Person, known: Ints, hidden: Ints) -> Floats:
        listed = self.answers.ranked(self._history(person, known), self.length)
        after = np.full(len(self.ids), self.length, dtype=np.int64)
        after[listed] = np.arange(len(listed))
        ahead = np.sort(self._before[known])
        places = self._before[hidden]
        before = np.minimum(places - np.searchsorted(ahead, places), self.length)
        gained: Floats = np.log1p(before) - np.log1p(after[hidden])
        return gained

    def _by_score(self, person: Person, known: Ints, hidden: Ints) -> Floats:
        scores = self.answers.scores(self._history(person, known))
        found: Floats = np.zeros(0) if scores is None else scores[hidden]
        return found[np.isfinite(found)]

    def _history(self, person: Person, known: Ints) -> dict[Any, float]:
        return {self.ids[item]: person.stars[item] for item in known.tolist()}


@dataclass(frozen=True)
class AttackRow:
    """One attack. low, high: 95 % interval of the AUC. tpr: share of those who are in, found with
    that share of the others accused; None for attacks on no person. epsilon_lower_bound: wrong
    with a chance of 5 %; None where coins were not tossed.
    """

    attack: str
    auc: float
    low: float
    high: float
    tpr_at_fpr_0_001: float | None
    tpr_at_fpr_0_01: float | None
    epsilon_lower_bound: float | None

    def to_dict(self) -> dict[str, float | str | None]:
        """As the machine output names them."""
        return {name.replace("_0_", "_0."): value for name, value in vars(self).items()}


def membership(
    model: Adapted,
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
) -> list[AttackRow]:
    """Two rows a view: without reference, and by likelihood ratio."""
    chosen = _targets(ratings, targets, seed)
    people = people_of(ratings, chosen, seed)
    generator = np.random.default_rng((seed, 7))
    half = np.arange(shadows) % 2 == 0
    known = np.array([generator.permutation(half) for _ in people]).T
    coins = generator.random((victims, len(people))) < 0.5
    inside = np.vstack([known, coins])
    seen: dict[str, list[Floats]] = {view: [] for view in views}
    for labels in inside:
        there = ratings.where(~np.isin(ratings.users, chosen[~labels]))  # all keep their number
        prober = Prober(model.fit(there), ratings.item_ids.tolist(), length)
        for view in views:
            seen[view].append(prober.about(people, view))
        progress(1)
    rows = []
    for view in views:
        table = np.array(seen[view])
        scored = ratios(table[:shadows], known, table[shadows:])
        for name, scores in (("", table[shadows:]), ("-lira", scored)):
            rows.append(judged(f"membership-{view}{name}", coins, scores, delta=delta, level=level))
    return rows


def members(
    model: Adapted, ratings: Ratings, inside: Labels, *, length: int, seed: int
) -> list[AttackRow]:
    """A fixed recommender: who of the people is known, so one row without reference.

    inside: (n_users,) who was there, not by a coin: there is no bound. DataError if all were.
    """
    chosen = _targets(ratings, ratings.n_users, seed)
    if not 0 < inside[chosen].sum() < len(chosen):
        raise DataError("membership is attacked with people who were there and people who were not")
    prober = Prober(model.fit(ratings), ratings.item_ids.tolist(), length)
    scores = prober.about(people_of(ratings, chosen, seed), LISTS)
    return [judged(f"membership-{LISTS}", inside[chosen][None], scores[None], delta=None)]


def ratios(shadows: Floats, inside: Labels, victims: Floats) -> Floats:
    """(victims, people) log likelihood ratio of in and out, from (shadows, people) of known."""
    means = [
        np.where(side, shadows, 0.0).sum(axis=0) / np.maximum(side.sum(axis=0), 1)
        for side in (inside, ~inside)
    ]
    apart = np.where(inside, shadows - means[0], shadows - means[1])
    own = (apart**2).mean(axis=0)
    variance = np.maximum(own / 2 + np.median(own) / 2, 1e-12)
    found: Floats = ((victims - means[1]) ** 2 - (victims - means[0]) ** 2) / (2 * variance)
    return found


def judged(
    attack: str,
    labels: Labels,
    scores: Floats,
    *,
    delta: float | None,
    level: float = 1 - CONFIDENCE,
) -> AttackRow:
    """labels, scores: (fits, people). delta: None if labels were not tossed; else the bound of
    epsilon is the best of several numbers of guesses, which share the level.
    """
    areas = [auc(one.astype(np.int64), each) for one, each in zip(labels, scores, strict=True)]
    bound = None
    if delta is not None:
        coded, flat = labels.ravel().astype(np.int64), scores.ravel()
        bound = max(
            least_epsilon(
                *guesses(coded, flat, share),
                people=len(coded),
                delta=delta,
                level=level / len(SHARES),
            )
            for share in SHARES
        )
    return row(attack, areas, labels, scores, bound)


def row(
    attack: str, areas: Sequence[float], labels: Labels, scores: Floats, bound: float | None = None
) -> AttackRow:
    """The interval is Student's t over the AUCs, and of one that of Hanley and McNeil (1982)."""
    middle, low, high = mean_interval(areas)
    if len(areas) == 1:
        half = 1.96 * _hanley_mcneil(middle, int(labels.sum()), int((~labels).sum()))
        low, high = max(0.0, middle - half), min(1.0, middle + half)
    rare, usual = (found_at(labels, scores, share) for share in (0.001, 0.01))
    return AttackRow(attack, middle, low, high, rare, usual, bound)


def found_at(labels: Labels, scores: Floats, share: float) -> float:
    """Share of those in whose score is above all but `share` of those out; (people,) each."""
    out = np.sort(scores[~labels])[::-1]
    return float((scores[labels] > out[math.floor(share * len(out))]).mean())


def _hanley_mcneil(area: float, ones: int, zeros: int) -> float:
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (ones - 1) * (first - area**2) + (zeros - 1) * (second - area**2)
    return math.sqrt(max(variance, 0.0) / (ones * zeros))


def _targets(ratings: Ratings, most: int, seed: int) -> Ints:
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    able = np.flatnonzero(likes >= LEAST_LIKES)
    if len(able) < 20:
        raise DataError(
            "there are too few people to attack",
            found=f"{len(able)} people with {LEAST_LIKES} likes or more",
            expected="20 or more",
            fix="Use more ratings.",
        )
    most = min(most, max(10, len(able) // 3)) if most < len(able) else most
    mixed = np.random.default_rng((seed, 6)).permutation(able)
    return np.sort(mixed[:most])
