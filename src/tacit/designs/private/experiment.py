"""The design in `tacit compare`, with and without noise, and its screen of `tacit demo`."""

from __future__ import annotations

import math

import numpy as np

from tacit.auditing.attacks import auc
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import Comparison, ComparisonEntry, Tour
from tacit.designs.private.device import DeviceLists
from tacit.designs.private.model import Private
from tacit.evaluation.lists import judge_lists, list_trial
from tacit.recommenders.baselines import Popularity

UNIT = "a person's whole profile, added or removed"
AGAINST = "everybody who has the lists or the model"


def contenders(asked: Comparison) -> tuple[ComparisonEntry, ...]:
    lists = {"delta": asked.delta, "source": asked.source, "target": asked.target}
    popular = {"delta": asked.delta, "domain": asked.target}
    kinds = (
        ("private", "tacit.designs.private:Private", lists),
        ("private-popularity", "tacit.recommenders.baselines:PrivatePopularity", popular),
    )
    return tuple(
        ComparisonEntry(
            name, "sound" if math.isfinite(epsilon) else "non-private", epsilon, UNIT, AGAINST,
            maker, settings | {"epsilon": epsilon},
        )
        for name, maker, settings in kinds
        for epsilon in asked.epsilons
    )  # fmt: skip


PEOPLE, ITEMS, RATINGS, SEED = 1500, 150, 40_000, 1
FEW = 60
"""People of the attacked fits, where one person counts most; as many were left out."""


def tour() -> Tour:
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
    best = DeviceLists.decode(file).rank(history, n=3)
    read = {name: attacked(ratings, eps) for name, eps in (("none", math.inf), ("1", 1.0))}
    (card,) = model.guarantees()
    return Tour(
        asked=f"{PEOPLE:,} generated people rated {ITEMS} items. A person who liked three of them "
        f"asks for a list and gets {', '.join(f'item {item}' for item, _ in best)}.",
        left=f"From the person: nothing. The list is made on their device from a published file of "
        f"{len(file):,} bytes, the same for everybody.",
        learned=f"Of {FEW} people that were fitted to and {FEW} that were not, an attacker who "
        f"knows their ratings tells who was in with an AUC of {read['none']:.2f} from a model "
        f"without noise, and {read['1']:.2f} from the private one. 0.5 is guessing.",
        cost=f"Epsilon {card.epsilon:.3g}, delta {card.delta:g}, for each person's whole profile, "
        f"once for each fit. NDCG@10 of lists: {ndcg['private']:.3f}, where popularity has "
        f"{ndcg['popularity']:.3f} and the same lists without noise {ndcg['without noise']:.3f}.",
        read_on="docs/private.md",
        figures={"ndcg": ndcg, "auc": read, "epsilon": card.epsilon, "delta": card.delta},
    )


def attacked(ratings: Ratings, epsilon: float) -> float:
    """AUC of how well a fitted model explains each person's own likes, one at a time."""
    order = np.random.default_rng(SEED).permutation(ratings.n_users)[: 2 * FEW]
    model = Private(epsilon).fit(ratings.of_users(order[:FEW]))
    scores = []
    for user in ratings.user_ids[order].tolist():
        history = ratings.history(user)
        liked = [item for item, stars in history.items() if stars >= ratings.scale.liked_from]
        given = model.predict(liked, history=history)
        scores.append(float(np.nanmean(given)) if liked else 0.0)
    return auc(np.repeat([1, 0], FEW), np.array(scores))
