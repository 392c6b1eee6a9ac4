"""The design in `tacit compare`, with and without noise, and its screen of `tacit demo`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.auditing.attacks import auc
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import Bar, Comparison, ComparisonEntry, Tour
from tacit.design.people_needed import people_needed
from tacit.designs.private.device import DeviceLists
from tacit.designs.private.model import Private
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.privacy import format_upper_bound
from tacit.recommenders.baselines import Popularity

UNIT = "a person's whole profile, added or removed"
"""What epsilon protects, for `ComparisonEntry.unit`."""
AGAINST = "everybody who has the lists or the model"
"""Against whom epsilon holds, for `ComparisonEntry.against`."""

PEOPLE, ITEMS, RATINGS, SEED = 12_000, 300, 480_000, 1
"""Size and seed of the generated data of `tacit demo`."""
ATTACKED_PEOPLE = 60
"""Number of people in each fit that is attacked, and of people who are not in it. They are few,
because the fewer people there are, the more each of them changes the fit."""


def comparison_entries(comparison: Comparison) -> tuple[ComparisonEntry, ...]:
    """Return the lines of `tacit compare`: private lists and private popularity at each epsilon."""
    settings_of_lists: dict[str, Any] = {
        "delta": comparison.delta,
        "source": comparison.source,
        "target": comparison.target,
        "features": comparison.features,
    }
    settings_of_popularity: dict[str, Any] = {
        "delta": comparison.delta,
        "domain": comparison.target,
    }
    entries = []
    for epsilon in comparison.epsilons:
        maker = "tacit.designs.private:Private"
        settings = settings_of_lists | {"epsilon": epsilon}
        entries.append(_make_entry("private", epsilon, maker, settings))
    for epsilon in comparison.epsilons:
        maker = "tacit.recommenders.baselines:PrivatePopularity"
        settings = settings_of_popularity | {"epsilon": epsilon}
        entries.append(_make_entry("private-popularity", epsilon, maker, settings))
    return tuple(entries)


def _make_entry(
    name: str, epsilon: float, maker: str, settings: Mapping[str, Any]
) -> ComparisonEntry:
    """Make one line of `tacit compare`.

    Args:
        name: Name of the recommender.
        epsilon: Its epsilon; infinity: the non-private variant.
        maker: "module:name" of its class.
        settings: Arguments of the class.
    """
    variant = "sound" if math.isfinite(epsilon) else "non-private"
    return ComparisonEntry(name, variant, epsilon, UNIT, AGAINST, maker, settings)


def make_tour() -> Tour:
    """Fit lists to generated people, make a list on a device, and attack two small fits."""
    ratings = generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=SEED)
    trial = list_trial(ratings, source=None, target=None, seed=SEED)
    ndcg = {
        "popularity": judge_lists(Popularity(likes=True), trial).ndcg,
        "private": judge_lists(Private(1.0), trial).ndcg,
        "without noise": judge_lists(Private(math.inf), trial).ndcg,
    }
    model = Private(1.0).fit(ratings)
    history: dict[int | str, float] = {3: 5, 8: 4, 21: 5}
    file = model.device_file()
    best_items = DeviceLists.decode(file).rank(history, n=3)
    items = ", ".join(f"item {item}" for item, _ in best_items)
    aucs = {"none": membership_auc(ratings, math.inf), "1": membership_auc(ratings, 1.0)}
    (card,) = model.guarantees()
    return Tour(
        headline=f"Lists reach NDCG {ndcg['private']:.3f}, popular items {ndcg['popularity']:.3f}; "
        f"an attacker's AUC on who was in falls from {aucs['none']:.2f} to {aucs['1']:.2f}.",
        bars=(
            Bar("attacker, no noise", aucs["none"]),
            Bar("attacker, epsilon 1", aucs["1"]),
        ),
        trusted="the platform, with the ratings",
        real_data=people_needed("private").real_data,
        asked=f"{PEOPLE:,} generated people rated {ITEMS} items. A person who liked three of them "
        f"asks for a list and gets {items}.",
        left=f"From the person: nothing. The list is made on their device from a published file of "
        f"{len(file):,} bytes, the same for everybody.",
        learned=f"Of {ATTACKED_PEOPLE} people that were fitted to and {ATTACKED_PEOPLE} that were "
        f"not, an attacker who knows their ratings tells who was in with an AUC of "
        f"{aucs['none']:.2f} from a model without noise, and {aucs['1']:.2f} from the private one. "
        "0.5 is guessing.",
        cost=f"Epsilon {format_upper_bound(card.epsilon or 0.0, digits=3)}, delta "
        f"{format_upper_bound(card.delta or 0.0)}, for each person's whole profile, once for each "
        f"fit. NDCG@10 of lists: {ndcg['private']:.3f}, where popularity has "
        f"{ndcg['popularity']:.3f} and the same lists without noise {ndcg['without noise']:.3f}.",
        read_on="docs/private.md",
        figures={"ndcg": ndcg, "auc": aucs, "epsilon": card.epsilon, "delta": card.delta},
    )


def membership_auc(ratings: Ratings, epsilon: float) -> float:
    """Fit to some people, and measure how well an attacker tells them from as many others.

    The attacker's score of a person is the mean score that the model gives to the person's likes,
    with all their ratings as the history; 0 for a person without likes.

    Args:
        ratings: Ratings of the people, of whom 2 * `ATTACKED_PEOPLE` are drawn.
        epsilon: Epsilon of the fit; infinity: no noise.

    Returns:
        The AUC of the scores: 0.5 is guessing, 1 is always right.
    """
    people = np.random.default_rng(SEED).permutation(ratings.n_users)[: 2 * ATTACKED_PEOPLE]
    model = Private(epsilon).fit(ratings.of_users(people[:ATTACKED_PEOPLE]))
    scores = []
    for user in ratings.user_ids[people].tolist():
        history = ratings.history(user)
        likes = [item for item, stars in history.items() if stars >= ratings.scale.liked_from]
        predicted = model.predict(likes, history=history)
        scores.append(float(np.nanmean(predicted)) if likes else 0.0)
    is_member = np.repeat([1, 0], ATTACKED_PEOPLE)  # the first half was fitted to
    return auc(is_member, np.array(scores))
