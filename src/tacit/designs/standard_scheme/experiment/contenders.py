"""The standard scheme for `tacit compare`: lists from what devices send."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from tacit.data.ratings import Ratings
from tacit.design import Comparison, Entry
from tacit.designs.standard_scheme import StandardScheme
from tacit.recommenders.base import Recommendations

UNIT = "an attribute of the person who asks: measured, no epsilon"
AGAINST = "the service that gets the releases"


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
