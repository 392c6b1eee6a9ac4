"""Was this person among those the recommender learned from? Any recommender, fitted many times.

Rule     There are two kinds of fits. In shadow fits the attacker knows which targets are in: each
         target is in a random half of these fits. In victim fits the attacker guesses which targets
         are in: a fair coin decides it for each target and fit. Everybody else is in every fit.
Sees     the answers to an account with half of a target's liked items. The attacker looks up the
         other half, the hidden items: their scores, or how far they rise in the list against the
         list of an account without ratings, so that popularity is no evidence. If nobody else
         rated items of both halves, a rise of the hidden items suggests that the target was in.
Knows    everybody's ratings, and how the recommender is fitted. Not which targets were in the
         victim fits.
Source   Carlini, Chien, Nasr, Song, Terzis, Tramèr: Membership inference attacks from first
         principles (S&P 2022), the online attack. Because there are few shadow fits, a target's two
         normal distributions share a variance: half of it is the target's own, half the median over
         all targets. The attack without reference compares the targets' values in the victim fits
         alone, without shadow fits: Yeom and others (CSF 2018).
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
    check_coins,
    judge,
)
from tacit.auditing.attacks.any_model.finished_fits import FinishedFits
from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import DataError

LEAST_LIKES = 4
"""People with fewer likes are not attacked: one half of their likes would hold at most one."""
LEAST_PEOPLE = 20
"""Fewest people with enough likes for an attack."""
_TARGETS_AMONG_FEW = 10
"""Number of targets, out of people with enough likes, that is drawn even if a third of these people
are fewer."""
_STREAM_OF_HALVES = 5
"""Second word of the seed that divides a person's likes."""
_STREAM_OF_TARGETS = 6
"""Second word of the seed that draws the people under attack."""
_STREAM_OF_COINS = 7
"""Second word of the seed that decides who is in which fit."""


@dataclass(frozen=True)
class Person:
    """A person under attack."""

    halves: tuple[Ints, Ints]
    """Numbers of the items that the person likes, in two random halves."""
    stars: Mapping[int, float]
    """The person's stars by item number, also of items that they do not like."""


def split_likes(ratings: Ratings, user_numbers: Ints, seed: int) -> list[Person]:
    """Split the likes of each of these people into two random halves.

    Args:
        ratings: Ratings with these people.
        user_numbers: (people,) numbers of the people in the ratings.
        seed: Seed of the split. A person's halves do not depend on who else is split.
    """
    people = []
    for number in user_numbers.tolist():
        rows = slice(ratings.offsets[number], ratings.offsets[number + 1])
        items = ratings.items[rows].astype(np.int64)
        generator = np.random.default_rng((seed, _STREAM_OF_HALVES, number))
        liked = generator.permutation(items[ratings.likes[rows]])
        stars = dict(zip(items.tolist(), ratings.values[rows].tolist(), strict=True))
        people.append(Person((liked[::2], liked[1::2]), stars))
    return people


class Prober:
    """Measures how a fitted recommender favours people's hidden items.

    Args:
        answers: The fitted recommender.
        ids: Item ids by number.
        length: Length of the lists that the recommender is asked for.
    """

    def __init__(self, answers: Answers, ids: Sequence[Any], length: int) -> None:
        self.answers = answers
        self.ids = ids
        self.length = length
        # (items,) place, from 0, of each item in the list of an account without ratings.
        self._place_for_new = np.full(len(ids), len(ids), dtype=np.int64)
        listed = answers.rank({}, len(ids))
        self._place_for_new[listed] = np.arange(len(listed))

    def measure_favour(self, people: Sequence[Person], view: str) -> Floats:
        """Return (people,) values that say how strongly a person's hidden items are favoured.

        The recommender answers for an account with one half of the person's likes; the other half
        is hidden. Each half is hidden in turn, and the value is the mean over all hidden items: of
        their rises in the list (`_gain_in_list`) if the view is `LISTS`, else of their finite
        scores. It is 0 if no item has a rise or a finite score.
        """
        halves: list[tuple[Ints, Ints]] = []  # known and hidden items, two pairs for each person
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
            all_gains = np.concatenate([first_gains, second_gains])
            favours.append(all_gains.mean() if all_gains.size else 0.0)
        return np.array(favours)

    def _gain_in_list(self, listed: Ints, known: Ints, hidden: Ints) -> Floats:
        """Return (hidden,) how far hidden items rise above their places in a new account's list.

        The rise is ln(1 + place before) - ln(1 + place after), with places from 0 and at most
        `length`. The place before is that in the list of an account without ratings, from which the
        known items are removed.

        Args:
            listed: Item numbers of the list for an account with the known items.
            known: Numbers of the items that this account has.
            hidden: Numbers of the person's other liked items.
        """
        place_after = np.full(len(self.ids), self.length, dtype=np.int64)
        place_after[listed] = np.arange(len(listed))
        places_of_known = np.sort(self._place_for_new[known])
        places = self._place_for_new[hidden]
        place_before = places - np.searchsorted(places_of_known, places)
        place_before = np.minimum(place_before, self.length)
        gained: Floats = np.log1p(place_before) - np.log1p(place_after[hidden])
        return gained

    def _history(self, person: Person, known: Ints) -> dict[Any, float]:
        """Return the person's stars for the known items, by item id."""
        return {self.ids[item]: person.stars[item] for item in known.tolist()}


def _finite_scores(scores: Floats | None, items: Ints) -> Floats:
    """Return the finite ones among the scores of these items; none if there are no scores."""
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
    """Attack membership by many fits, without reference and by likelihood ratio: two rows per view.

    Args:
        model: The recommender.
        ratings: Everybody's ratings.
        views: What the attacker sees of the answers: `LISTS`, `SCORES`, or both.
        targets: Largest number of people who are attacked; chance decides in which fits each of
            them is a member. `count_targets` says how many they are.
        shadows: Number of shadow fits, in which the attacker knows who is in.
        victims: Number of victim fits, in which the attacker guesses who is in.
        length: Length of the lists.
        delta: Delta at which epsilon is bounded.
        level: Chance with which each row's bound may be wrong.
        seed: Seed of targets, coins and halves.
        progress: Called with 1 after each fit.
        finished: Findings of fits that need not be made again; new findings are added. None: all
            fits are made, and nothing is kept.

    Raises:
        DataError: Fewer than LEAST_PEOPLE people have LEAST_LIKES likes or more, or all targets or
            none of them are in some victim fit.
    """
    chosen = _draw_targets(_find_attackable(ratings), targets, seed)
    people = split_likes(ratings, chosen, seed)
    generator = np.random.default_rng((seed, _STREAM_OF_COINS))
    # Each (fits, people): True where the person is in the fit.
    in_half_of_shadows = np.arange(shadows) % 2 == 0
    in_shadow = np.array([generator.permutation(in_half_of_shadows) for _ in people]).T
    in_victim = generator.random((victims, len(people))) < 0.5
    check_coins(in_victim, fix="Use another seed, or more targets.")
    favours_of_view: dict[str, list[Floats]] = {view: [] for view in views}
    finished = FinishedFits() if finished is None else finished
    for number, is_in in enumerate(np.vstack([in_shadow, in_victim])):
        fit_name = f"membership {number} of {shadows} and {victims}, {views}"
        favours_by_view = finished.find(fit_name)
        if favours_by_view is None:
            # People without ratings keep their number.
            members_only = ratings.where(~np.isin(ratings.users, chosen[~is_in]))
            prober = Prober(model.fit(members_only), ratings.item_ids.tolist(), length)
            favours_by_view = [prober.measure_favour(people, view).tolist() for view in views]
            finished.add(fit_name, favours_by_view)
        for view, favours in zip(views, favours_by_view, strict=True):
            favours_of_view[view].append(np.array(favours))
        progress(1)
    rows = []
    for view in views:
        all_favours = np.array(favours_of_view[view])  # (shadows + victims, people)
        victim_favours = all_favours[shadows:]
        ratios = likelihood_ratios(all_favours[:shadows], in_shadow, victim_favours)
        name = f"membership-{view}"
        rows.append(judge(name, in_victim, victim_favours, delta=delta, level=level))
        rows.append(judge(f"{name}-lira", in_victim, ratios, delta=delta, level=level))
    return rows


def attack_membership_of_fixed_model(
    model: AdaptedModel, ratings: Ratings, is_member: Labels, *, length: int, seed: int
) -> list[AttackRow]:
    """Attack membership in a recommender that cannot be fitted again: one row, without reference.

    All people with LEAST_LIKES likes or more are attacked. No coin was tossed for membership, so
    the row has no bound of epsilon.

    Args:
        model: The recommender.
        ratings: Ratings of members, from whom the recommender learned, and of other people.
        is_member: (n_users,) True for members.
        length: Length of the lists.
        seed: Seed of halves.

    Raises:
        DataError: Too few people can be attacked, or all or none of them are members.
    """
    chosen = _find_attackable(ratings)
    if not 0 < is_member[chosen].sum() < len(chosen):
        raise DataError("an attack on membership needs some members and some other people")
    prober = Prober(model.fit(ratings), ratings.item_ids.tolist(), length)
    scores = prober.measure_favour(split_likes(ratings, chosen, seed), LISTS)
    return [judge(f"membership-{LISTS}", is_member[chosen][None], scores[None], delta=None)]


def likelihood_ratios(shadows: Floats, inside: Labels, victims: Floats) -> Floats:
    """Return (victims, people) log likelihood ratios of being in and being out.

    A person's favour is taken as normal, with one mean if the person is in and another if they are
    out, both estimated from the shadow fits. Both distributions have the same variance v: half of v
    is the person's own variance, half the median of all people's variances. Since that may be 0, v
    is at least 1e-12.
        log ratio = ((favour - mean_out)^2 - (favour - mean_in)^2) / (2 v).

    Args:
        shadows: (shadows, people) favours in the shadow fits.
        inside: (shadows, people) True where the person is in that fit.
        victims: (victims, people) favours in the victim fits.
    """
    mean_in = _mean_where(inside, shadows)
    mean_out = _mean_where(~inside, shadows)
    deviations = np.where(inside, shadows - mean_in, shadows - mean_out)
    own_variance = (deviations**2).mean(axis=0)
    variance = np.maximum(own_variance / 2 + np.median(own_variance) / 2, 1e-12)
    ratios: Floats = ((victims - mean_out) ** 2 - (victims - mean_in) ** 2) / (2 * variance)
    return ratios


def _mean_where(mask: Labels, values: Floats) -> Floats:
    """Return (columns,) means over the rows where the mask is True; 0 for a column without any.

    Args:
        mask: (rows, columns).
        values: (rows, columns).
    """
    means: Floats = np.where(mask, values, 0.0).sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    return means


def count_targets(attackable: int, most: int) -> int:
    """Count the people who are attacked: more attackable people never mean fewer targets.

    A third of the attackable people are targets, so that two thirds stay in every fit, but not more
    than `most`, and at least a third of `most` if there are so many people.

    Args:
        attackable: Number of people with LEAST_LIKES likes or more, at least LEAST_PEOPLE.
        most: Largest number of targets, at least 10.
    """
    third = max(attackable, most) // 3
    return min(attackable, most, max(third, _TARGETS_AMONG_FEW))


def _find_attackable(ratings: Ratings) -> Ints:
    """Find the people with LEAST_LIKES likes or more; return their numbers, ascending.

    Raises:
        DataError: There are fewer than LEAST_PEOPLE.
    """
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    attackable = np.flatnonzero(likes >= LEAST_LIKES)
    if len(attackable) < LEAST_PEOPLE:
        raise DataError(
            "there are too few people to attack",
            found=f"{len(attackable)} people with {LEAST_LIKES} likes or more",
            expected=f"{LEAST_PEOPLE} or more",
            fix="Use more ratings.",
        )
    return attackable


def _draw_targets(attackable: Ints, most: int, seed: int) -> Ints:
    """Draw `count_targets` people to attack; return their numbers, ascending.

    Args:
        attackable: Numbers of the people who can be attacked.
        most: Largest number of targets.
        seed: Seed of the draw.
    """
    shuffled = np.random.default_rng((seed, _STREAM_OF_TARGETS)).permutation(attackable)
    return np.sort(shuffled[: count_targets(len(attackable), most)])
