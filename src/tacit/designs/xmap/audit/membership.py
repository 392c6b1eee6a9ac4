"""Who was in the ratings that X-Map learned from? A game, played against whole fits.

Knows   what every target rated; asks the fitted recommender through accounts of their own.
Feeds   on what others seldom rate together: targets rate items at random.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing.attacks.membership import FromLists, FromPredictions, Game, Scored, study
from tacit.designs.xmap import XMap
from tacit.designs.xmap.audit.tables import SCALE, SOURCE, TARGET, Stars, ratings
from tacit.engine.local import LocalEngine

ITEMS, PEOPLE, TARGETS, RATED = 50, 120, 60, 4
"""Of each domain; people who are always in; targets; ratings of each target in each domain."""
DELTA = 1e-10
"""Far below the chance of a false alarm, or what is due to delta could explain every guess."""
ATTACKS = (FromLists(20, SCALE.maximum), FromPredictions())


def once(settings: dict[str, Any], generator: np.random.Generator) -> Scored:
    """One world, a fit of it with these settings, and what each attack makes of it."""
    books, films = ([f"{kind} {n:02}" for n in range(ITEMS)] for kind in ("book", "film"))
    fame = 1 / (1 + np.arange(ITEMS))

    def rows(people: int, chances: Any) -> list[Stars]:
        return [
            {
                str(item): float(generator.integers(1, 6))
                for domain in (books, films)
                for item in generator.choice(
                    domain, RATED, replace=False, p=chances / chances.sum()
                )
            }
            for _ in range(people)
        ]

    others, targets = rows(PEOPLE, fame), rows(TARGETS, np.ones(ITEMS))
    inside = generator.random(TARGETS) < 0.5
    present = [person for person, there in zip(targets, inside, strict=True) if there]
    items = dict.fromkeys(books, SOURCE) | dict.fromkeys(films, TARGET)
    model = XMap(source=SOURCE, target=TARGET, engine=LocalEngine(), **settings)
    model.fit(ratings([*others, *present], items))
    return inside.astype(np.int64), {
        attack.name: np.array([attack.score(model, person) for person in targets])
        for attack in ATTACKS
    }


GAMES = (
    Game("nx-map", partial(once, {"variant": "published", "epsilon": math.inf, "k": 10})),
    Game("x-map-sound", partial(once, {"epsilon": 1.0, "delta": DELTA, "stars": True}), 1.0, DELTA),
)
"""The control, in which the attack has to work, and the guarantee, under which it has to fail."""

STUDY = study(lambda: GAMES, "recommender", "attack")
