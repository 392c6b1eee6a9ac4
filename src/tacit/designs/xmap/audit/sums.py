"""The sound X-Map on the bench: one fit's noisy sums, with and without one person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import replays as generic
from tacit.auditing.claims import Check, Line
from tacit.auditing.gaussian import audit_gaussian, epsilon_of
from tacit.auditing.replays import Replay
from tacit.auditing.transcripts import compared, recorded
from tacit.auditing.verdicts import Checked
from tacit.data.ratings import Ratings
from tacit.designs.xmap import XMap
from tacit.designs.xmap.audit.tables import SOURCE, TARGET, Stars, Tables, ratings

DELTA = 1e-6

PEOPLE: Mapping[str, Callable[[list[str]], Stars]] = {
    "rates everything, half of it 5, half 1": lambda items: {
        item: 5.0 if place % 2 else 1.0 for place, item in enumerate(items)
    },
    "rates everything 5": lambda items: dict.fromkeys(items, 5.0),
    "rates one book and one film": lambda items: {items[0]: 5.0, items[-1]: 1.0},
    "rates one film": lambda items: {items[-1]: 5.0},
}
"""Who comes or goes."""


def people_and_one(extra: Callable[[list[str]], Stars], people: int = 40, items: int = 4) -> Tables:
    """Some people with arbitrary ratings of `items` books and films, with and without them."""
    generator = np.random.default_rng(1)
    names = [f"book {place}" for place in range(items)] + [f"film {n}" for n in range(items)]
    rows: list[Stars] = []
    for _ in range(people):
        seen = generator.choice(names, size=items, replace=False).tolist()
        rows.append({item: float(generator.integers(1, 6)) for item in seen})
    domains = {name: SOURCE if name.startswith("book") else TARGET for name in names}
    return ratings([*rows, extra(names)], domains), ratings(rows, domains)


def fit(epsilon: float) -> Callable[[Ratings], dict[str, NDArray[Any]]]:
    """The shipped recommender; the arrays of its model file."""

    def fitted(table: Ratings) -> dict[str, NDArray[Any]]:
        model = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA)
        return model.fit(table).item_model_.arrays()

    return fitted


def replays(epsilon: float, tables: Tables) -> list[Replay]:
    """Some transcripts of either table, replayed on the other one."""
    return generic.replays(fit(epsilon), tables)


def replay_check(name: str, epsilon: float, tables: Tables, *, entries: int, share: int) -> Check:
    """The loss of whole fits, and samples of the noise of the fit in which they move most."""
    return generic.replay_check(
        name, fit(epsilon), tables, entries=entries, share=share, delta=DELTA
    )


def fits_check(name: str, epsilon: float, tables: Tables, share: int = 2_000) -> Check:
    """Real fits of both tables, each judged by an auditor who replays it on the other table."""

    def release(side: int) -> Callable[[int], NDArray[np.float64]]:
        return lambda n: np.array([ratio(side) for _ in range(n)])

    def ratio(side: int) -> float:
        transcript = recorded(fit(epsilon), tables[side])
        found = compared(fit(epsilon), transcript, tables[1 - side])
        return (1 - 2 * side) * (1e9 if found.differences else found.log_ratio)

    def check(samples: int, alpha: float) -> Checked:
        count = max(samples // share, 4)
        seen = audit_gaussian(release(0), release(1), samples=count, delta=DELTA, alpha=alpha)
        mu = max(moved.mu for _, moved in replays(epsilon, tables))
        loss = math.inf if math.isinf(mu) else epsilon_of(mu, DELTA)
        return Checked(name, loss, None, seen.lower_bound, 0.0, count)

    return check


def sums(epsilon: float, *, entries: int, share: int) -> Line:
    """All sums of one fit together, as a reader of all of them sees them."""
    worst, *others = PEOPLE.items()
    checks = [
        replay_check(worst[0], epsilon, people_and_one(worst[1]), entries=entries, share=share)
    ]
    checks += [
        replay_check(name, epsilon, people_and_one(extra), entries=1, share=1_000)
        for name, extra in others
    ]
    return Line("x-map-sound", epsilon, tuple(checks), delta=DELTA)


def whole_fits(epsilon: float) -> Line:
    """The same, sampled fit by fit; at a large epsilon, for fits are few."""
    name, extra = next(iter(PEOPLE.items()))
    check = fits_check(f"{name}; whole fits", epsilon, people_and_one(extra))
    return Line("x-map-sound-fits", epsilon, (check,), delta=DELTA)
