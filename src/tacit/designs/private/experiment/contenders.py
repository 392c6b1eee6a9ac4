"""Private lists and private popularity, with and without noise, for `tacit compare`."""

from __future__ import annotations

import math

from tacit.design import Comparison, Entry

UNIT = "a person's whole profile, added or removed"
AGAINST = "everybody who has the lists or the model"


def contenders(asked: Comparison) -> tuple[Entry, ...]:
    """Always some."""
    lists = {"delta": asked.delta, "source": asked.source, "target": asked.target}
    popular = {"delta": asked.delta, "domain": asked.target}
    kinds = (
        ("private", "tacit.designs.private:Private", lists),
        ("private-popularity", "tacit.recommenders.baselines:PrivatePopularity", popular),
    )
    return tuple(
        Entry(
            name, "sound" if math.isfinite(epsilon) else "non-private", epsilon, UNIT, AGAINST,
            maker, settings | {"epsilon": epsilon},
        )
        for name, maker, settings in kinds
        for epsilon in asked.epsilons
    )  # fmt: skip
