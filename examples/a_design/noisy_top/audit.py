"""The claim on the bench: a person comes, and the counts are drawn again. And a planted bug."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisy_top.model import NoisyTop
from tacit.auditing.bugs import MechanismBug
from tacit.auditing.claims import AuditPlan
from tacit.auditing.pairs import AuditedMechanism, Pair, claim_makers
from tacit.auditing.shipped_noise import laplace_pair
from tacit.data.ratings import Ratings

EPSILON, MOST = 1.0, 3
OTHERS = [(1, item) for item in range(5)]


class OneForAll(NoisyTop):
    """The planted bug: noise for one like, though a person counts with several."""

    @property
    def release(self):
        return NoisyTop(epsilon=self.epsilon, most=1).release


def counts(model: NoisyTop, likes: int) -> list[float]:
    """Of one person who likes everything, and of another who likes the first few or nobody."""
    rows = [*OTHERS, *((2, item) for item in range(likes))]
    users, items = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(list(users), list(items), [5.0] * len(rows))
    found: NDArray[np.int64] = model.counts(ratings)
    return found.astype(float).tolist()


def pair(model: NoisyTop, likes: int) -> Pair:
    """A person with so many likes, present or absent."""
    first, second = counts(model, likes), counts(model, 0)
    name = f"a person with {likes} likes"
    return laplace_pair(
        name,
        lambda table: model.release(table),
        first,
        second,
        distance=MOST,
        sample_divisor=2 if likes == MOST else 50,
    )


def claimed() -> AuditedMechanism:
    """Nats for a whole profile."""
    model = NoisyTop(epsilon=EPSILON, most=MOST)
    pairs = tuple(pair(model, likes) for likes in (1, 3, 5))
    return AuditedMechanism("noisy-top", "person", "comes or goes", EPSILON, pairs)


def _planted(bug: bool) -> Pair:
    return pair((OneForAll if bug else NoisyTop)(epsilon=EPSILON, most=MOST), 5)


BUGS = (MechanismBug("noise for one like of several", _planted, EPSILON),)


def audit() -> AuditPlan:
    """What `tacit audit noisy-top` looks at."""
    return AuditPlan(
        {"": claim_makers([claimed])},
        BUGS,
        samples=50_000,
        next_step="tacit guarantee noisy-top  reads what is promised.",
    )
