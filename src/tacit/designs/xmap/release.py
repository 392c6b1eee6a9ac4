"""The sound variant: a few noisy sums over people, and from them everything about items.

Source       the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); the sweeps:
             Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: Private alternating least squares
             (ICML 2021). What differs, and why: docs/decisions/0010.
Runs at      the platform.
Sees         all ratings.
Releases     an `ItemModel`, and the sums it is made of.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: every sum clips what
             one person adds, all of it together, and `events` lists them all. The number of people
             is itself released with noise. A person's own list uses their own ratings in the clear,
             so lists are protected jointly: what others see says this little about them.
Assumptions  the catalogue and the rating scale are public.
"""

from __future__ import annotations

import numpy as np

from tacit.data.ratings import Ratings
from tacit.designs.xmap.als_step import sweep
from tacit.designs.xmap.budget import ReleaseSettings, events, noise_multipliers
from tacit.designs.xmap.denoising import Factors
from tacit.designs.xmap.item_means import average, count
from tacit.designs.xmap.item_model import ItemModel
from tacit.designs.xmap.released_state import ReleasedState, model_of
from tacit.designs.xmap.top_item_gram import head
from tacit.errors import DataError

__all__ = ["ItemModel", "ReleaseSettings", "events", "release"]


def release(
    ratings: Ratings, *, epsilon: float, delta: float, settings: ReleaseSettings | None = None
) -> ItemModel:
    """Numbers about every item of the catalogue, from everybody's ratings.

    epsilon: nats; inf gives the non-private variant, in which nothing is clipped and no noise
    added.
    """
    chosen = settings or ReleaseSettings()
    noises = noise_multipliers(chosen, epsilon, delta)
    if ratings.n_items < 2:
        raise DataError("a catalogue has two items or more", found=ratings.n_items)
    counted = count(ratings, noises[0], chosen)
    means, counts, people = average(ratings, noises[1], counted, chosen)
    none = np.zeros((ratings.n_items, chosen.factors))
    nothing = Factors(none, np.zeros((*none.shape, chosen.factors)), none[0])
    known = ReleasedState(means, counts, people, nothing)
    known = head(ratings, (noises[2], noises[3]), known, chosen)
    for noise in noises[4:]:
        known = sweep(ratings, noise, known, chosen)
    return model_of(known, chosen, ratings.scale)
