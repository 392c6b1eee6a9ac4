"""The standard scheme in `tacit demo` and in `tacit compare`."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from scipy import sparse

from tacit.auditing.attacks import LogisticRegression, auc
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import Comparison, Entry, Tour
from tacit.designs.standard_scheme import StandardScheme
from tacit.recommenders.base import Recommendations

PEOPLE, ITEMS, RATINGS, SEED = 2500, 300, 150_000, 1
ASKERS = 500
"""People whom neither the recommender nor the attacker has seen."""
UNIT = "an attribute of the person who asks: measured, no epsilon"
AGAINST = "the service that gets the releases"


def tour() -> Tour:
    """One device's bytes, and an attack before and after."""
    ratings = generate(users=PEOPLE, items=ITEMS, ratings=RATINGS, seed=SEED)
    order = np.random.default_rng(SEED).permutation(ratings.n_users)
    others, askers = ratings.of_users(order[ASKERS:]), ratings.of_users(order[:ASKERS])
    model = StandardScheme(service_sees_items=False).fit(others)
    attacker = LogisticRegression().fit(others.matrix, _women(others))
    shown = _releases(model, askers)
    before, after = (auc(_women(askers), attacker.score(each)) for each in (askers.matrix, shown))
    history = askers.history(askers.user_ids[0])
    own = {"gender": str(askers.attribute("gender")[0])}
    made = model.exchange(history, own, n=3)
    sent = made.release.encode()
    return Tour(
        asked=f"{ASKERS} people ask for lists and want to keep their gender to themselves; "
        f"{PEOPLE - ASKERS:,} others agreed to train the recommender. One of them gets "
        f"{', '.join(f'item {row.item_id}' for row in made.recommendations)}.",
        left=f"{len(sent):,} bytes: {len(made.release.ratings)} of {len(history)} rated items with "
        f"slightly changed stars, no gender, no id. They begin {sent[:60].decode()} ...",
        learned="An attacker who knows the training people's genders ranks a woman above a man "
        f"with an AUC of {before:.2f} from true stars and {after:.2f} from what was sent. 0.5 is "
        "guessing. Attackers who retrain on releases read more: see the page.",
        cost="No epsilon: this is measured, not proved. It holds only for services that do not "
        "learn in another way what people rated.",
        read_on="docs/standard-scheme.md",
        figures={"auc_before": before, "auc_after": after, "bytes": len(sent)},
    )


def _women(people: Ratings) -> Any:
    return (people.attribute("gender") == "F").astype(np.int64)


def _releases(model: StandardScheme, people: Ratings) -> sparse.csr_array:
    """(people, items) CSR of released stars, one device each, secure randomness."""
    rows, columns, stars = [], [], []
    for number, user in enumerate(people.user_ids.tolist()):
        own = {"gender": str(people.attribute("gender")[number])}
        for item, level in model.device(own).release(people.history(user), 0).ratings:
            rows.append(number)
            columns.append(people.item_number(item))
            stars.append(people.scale.minimum + people.scale.step * level / 1_000_000)
    shape = (people.n_users, people.n_items)
    return sparse.csr_array(sparse.coo_array((stars, (rows, columns)), shape=shape).tocsr())


class OnReleases:
    """Everybody whose attribute is known consents to training; a list for anyone else is made from
    true stars, and so is everybody's without `hides`."""

    def __init__(self, *, attribute: str, hides: bool) -> None:
        self.attribute, self.hides = attribute, hides

    def fit(self, ratings: Ratings) -> OnReleases:
        self.model_ = StandardScheme(attributes=(self.attribute,), service_sees_items=False).fit(
            ratings
        )
        self.ratings_ = ratings
        return self

    def recommend(
        self, user: Any, *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> Recommendations:
        """Made from the release of a person's device."""
        value: Any = self.ratings_.attribute(self.attribute)[self.ratings_.user_number(user)]
        return self.model_.recommend(
            user,
            history=self.ratings_.history(user),
            attributes={self.attribute: value} if self.hides and value is not None else None,
            n=n,
            candidates=candidates,
        )


def contenders(asked: Comparison) -> tuple[Entry, ...] | str:
    """Where an attribute of two values is known."""
    attribute = next(
        (
            name
            for name, column in sorted(asked.ratings.user_attributes.items())
            if len({value for value in column.tolist() if value is not None}) == 2
        ),
        None,
    )
    if attribute is None:
        return "needs a user attribute of two values to hide: name a file with --users"
    if not asked.ratings.scale.discrete or asked.source is not None:
        return "works in one domain, on stars with steps"
    return tuple(
        Entry(
            "standard-scheme",
            "sound" if hides else "non-private",
            None if hides else math.inf,
            f"{attribute}: {UNIT}",
            AGAINST,
            f"{__name__}:OnReleases",
            {"attribute": attribute, "hides": hides},
            attacked=False,
        )
        for hides in (True, False)
    )
