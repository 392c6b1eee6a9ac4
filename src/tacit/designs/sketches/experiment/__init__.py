"""Sketches on generated people: how many it takes until the item clusters are found, and how that
grows with items, rated items and epsilon.

The paper has bounds and no experiments. For each setting and seed a population grows until every
label is right and stays so. What is needed is the size at which nine of ten populations get there:
the planner's formula is for a failure of one in ten, too. The logarithms are fitted by a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.synthetic_worlds import Blocks, draw, example
from tacit.design import Tour
from tacit.designs.sketches.campaigns import cards, new_campaign
from tacit.designs.sketches.device import Device, new_secret
from tacit.designs.sketches.model import answer, cluster
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.sensing import pairs
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy
from tacit.randomness import replay, simulation

Floats = NDArray[np.float64]
METHODS = ("maxsense", "multi-maxsense", "pairwise-preference")
RATED = "pairwise-rated"
"""Asks about two items that a person rated, which is then public; simulated, not planned."""
_TOUR: dict[str, Any] = {"items": 40, "rated": 40, "epsilon": 1.0}
_TOURED, _FEW, _MANY, _DEVICES = "pairwise-preference", 1000, 20_000, 2000
VARIED = ("items", "rated", "epsilon")
ETA = 0.1
"""Share of populations that may fail, and the planner's chance of failure."""
STOPS = tuple(float(part) for part in np.geomspace(0.12, 1.5, 26))
"""Sizes of the growing population, in parts of the planner's `users_clt`: steps of 11 %."""
_RESAMPLES = 2000


@dataclass(frozen=True)
class SketchRow:
    """One simulated campaign. accuracy: share of right labels; ari: adjusted Rand index."""

    method: str
    items: int
    rated: int
    epsilon: float
    users: int
    seed: int
    accuracy: float
    ari: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon is null."""
        return asdict(self) | {"epsilon": None if math.isinf(self.epsilon) else self.epsilon}


def simulate(
    method: str,
    *,
    items: int,
    rated: int,
    epsilon: float,
    users: Iterable[int],
    seed: int,
    blocks: Blocks | None = None,
    clusters: int = 2,
    theta: float | None = None,
    questions: int | None = None,
    unit: str = "user",
) -> tuple[SketchRow, ...]:
    """One row for each number of users; a smaller number is a part of the same population.

    theta, questions: as the planner advises by default, theta for the number of questions that is
    asked. epsilon: inf for the non-private variant.
    blocks: who likes what (default: `synthetic_blocks.example(clusters)`). The items' clusters are
    dealt out at random.
    """
    world = example(clusters) if blocks is None else blocks
    stops = sorted(set(users))
    if not stops or stops[0] < 1:
        raise ConfigError("A simulation needs at least one person.")
    setting: dict[str, Any] = {"rated": rated, "epsilon": epsilon, "unit": unit}
    theta, questions = _asked(method, world, theta, questions, items=items, **setting)
    campaign = new_campaign(
        range(items),
        method="multi-maxsense" if method == "maxsense" else method,
        theta=theta,
        questions=questions,
        seed=np.random.default_rng((seed, 3)).bytes(16),
        **setting,
    )
    labels = np.random.default_rng((seed, 1)).permutation(world.labels(items))
    # Tickets are random words of 64 bits here: nobody sends two.
    server, rows = Server(campaign, keep_tickets=False), []
    with simulation():
        source = replay(f"sketches {seed}")
        for part, stop in enumerate(stops):
            people = stop - (stops[part - 1] if part else 0)
            for likes in draw(world, labels, users=people, rated=rated, seed=(seed, 2, part)):
                pair = likes.rated[:, :2] if method == RATED else None
                server.fold(answer(campaign, likes.starts, likes.items, source, pair), now=0)
            found = cluster(server, len(world.items)).labels
            right = label_accuracy(found, labels), adjusted_rand(found, labels)
            rows.append(SketchRow(method, items, rated, epsilon, stop, seed, *right))
    return tuple(rows)


def _asked(
    method: str, world: Blocks, theta: float | None, questions: int | None, **setting: Any
) -> tuple[float, int]:
    """theta, 0 for pairs, and the number of questions: as given, else as the planner advises."""
    if method == RATED and setting["rated"] < 2:
        raise ConfigError("pairwise-rated asks about two items that a person rated.")
    if method == RATED:
        return 0.0, 1
    if method not in METHODS:
        known = ", ".join((*METHODS, RATED))
        raise ConfigError(f"A method is one of {known}; got {method!r}.")
    if method == "maxsense" and questions not in (None, 1):
        raise ConfigError(f"maxsense asks one question, not {questions}: use multi-maxsense.")
    if theta is None or questions is None:
        # Without noise there is nothing to share: planned as for a large epsilon.
        most = 1e3 if method == "maxsense" else 20.0
        shared = questions if method == "multi-maxsense" else None
        setting["epsilon"] = min(setting["epsilon"], most)
        advice = plan(**setting, clusters=len(world.items), questions=shared, blocks=world)
        own = next(row for row in advice.methods if row.method == method)
        theta = own.theta if theta is None else theta
        questions = own.questions if questions is None else questions
    return theta or 0.0, questions


def scaling(
    method: str,
    varied: str,
    values: Sequence[float],
    *,
    items: int = 200,
    rated: int = 20,
    epsilon: float = 1.0,
    seeds: int = 20,
    blocks: Blocks | None = None,
) -> dict[str, Any]:
    """Vary one of items, rated and epsilon; theta and the number of questions are the planner's.

    values: two or more. seeds: two or more populations for each; below ten, nine of ten is read off
    between two of them. Seeds of one setting are independent; populations of one seed grow, so
    that a need is found to within the steps of STOPS.

    slope: of users ~ value^slope; low, high: 95 %, bootstrap over seeds. formula_slope: the same
    line through the planner's `users_clt`; above 2 in items, for all of more labels have to be
    right. mean_slope: through the means, where half of populations have arrived. needs: see
    `_Populations.need`. rows: the simulated populations that it was fitted to.
    """
    if method not in METHODS:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {method!r}.")
    if varied not in VARIED:
        raise ConfigError(f"What can be varied is {', '.join(VARIED)}; got {varied!r}.")
    if len(set(values)) < 2 or seeds < 2:
        raise ConfigError("A slope needs two values and two seeds or more.")
    kept = {"items": items, "rated": rated, "epsilon": epsilon}
    populations = [_Populations(method, kept | {varied: value}, seeds, blocks) for value in values]
    x = np.log(np.asarray(values, dtype=float))
    low, high = _ends(fitted_slope(x, np.stack([one.resampled for one in populations], axis=-1)))
    return {
        "method": method,
        "varied": varied,
        "needs": [one.need(value) for one, value in zip(populations, values, strict=True)],
        "slope": float(fitted_slope(x, np.array([one.log_users for one in populations]))),
        "low": low,
        "high": high,
        "formula_slope": float(fitted_slope(x, np.log([one.clt for one in populations]))),
        "mean_slope": float(fitted_slope(x, np.array([one.logs.mean() for one in populations]))),
        "rows": [row for one in populations for row in one.rows],
    }


def compare(
    methods: tuple[str, str],
    *,
    items: int = 200,
    rated: int = 20,
    epsilon: float = 1.0,
    seeds: int = 20,
    blocks: Blocks | None = None,
) -> dict[str, Any]:
    """How many people the second method needs against the first; two seeds or more.

    ratio: people that the second needs, over those of the first; low, high: 95 %, bootstrap over
    seeds. formula_ratio: the same by the planner. needs, rows: as above.
    """
    if len(set(methods)) != 2 or not set(methods) <= set(METHODS) or seeds < 2:
        raise ConfigError(f"A comparison needs two of {', '.join(METHODS)}, and two seeds or more.")
    setting = {"items": items, "rated": rated, "epsilon": epsilon}
    first, second = (_Populations(method, setting, seeds, blocks) for method in methods)
    low, high = _ends(np.exp(second.resampled - first.resampled))
    return {
        "needs": [first.need(epsilon), second.need(epsilon)],
        "ratio": math.exp(second.log_users - first.log_users),
        "low": low,
        "high": high,
        "formula_ratio": second.clt / first.clt,
        "rows": [*first.rows, *second.rows],
    }


class _Populations:
    """The populations of one method at one setting, one for each seed."""

    def __init__(
        self, method: str, setting: dict[str, Any], seeds: int, blocks: Blocks | None
    ) -> None:
        world = example(2) if blocks is None else blocks
        advice = plan(**setting, clusters=len(world.items), eta=ETA, blocks=world)
        self.method = method
        self.clt = next(row.users_clt for row in advice.methods if row.method == method)
        if math.isinf(self.clt):
            raise ConfigError(f"{method} cannot distinguish these clusters, for any population.")
        stops = sorted({max(1, round(part * self.clt)) for part in STOPS})
        self.rows: list[SketchRow] = []
        self.unreached = 0
        sizes = []
        for seed in range(seeds):
            rows = simulate(method, **setting, users=stops, seed=seed, blocks=world)
            self.rows += rows
            wrong = [place for place, row in enumerate(rows) if row.accuracy < 1]
            first = wrong[-1] + 1 if wrong else 0
            self.unreached += first == len(stops)
            sizes.append(stops[min(first, len(stops) - 1)])
        self.logs = np.log(np.array(sizes, dtype=np.float64))
        self.log_users = float(np.quantile(self.logs, 1 - ETA))
        generator = np.random.default_rng(round(self.clt))
        drawn = generator.choice(self.logs, size=(_RESAMPLES, seeds))
        self.resampled: Floats = np.quantile(drawn, 1 - ETA, axis=1)

    def need(self, value: float) -> dict[str, Any]:
        """People needed at one value of what is varied.

        users: nine of ten populations have all labels right from here on; low, high: 95 %,
        bootstrap over seeds. mean: geometric mean over seeds of the size from which on all were
        right: about half of the populations have arrived there. users_clt: the planner's.
        unreached: seeds in which even the largest population was too small; they count with its
        size, so that both are then too low.
        """
        low, high = _ends(np.exp(self.resampled))
        return {
            "method": self.method,
            "value": float(value),
            "users": math.exp(self.log_users),
            "low": low,
            "high": high,
            "mean": math.exp(self.logs.mean()),
            "users_clt": self.clt,
            "unreached": self.unreached,
        }


def fitted_slope(x: Floats, y: Floats) -> Floats:
    """Of the least-squares line through (x, y), along the last axis of y."""
    centred = x - x.mean()
    slope: Floats = y @ centred / (centred @ centred)
    return slope


def _ends(values: Floats) -> tuple[float, float]:
    """Of the 95 % interval of resampled values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def tour() -> Tour:
    """What one bit says about a person, and what many say about items."""
    items = _TOUR["items"]
    campaign = new_campaign(
        range(items), rated=items, epsilon=_TOUR["epsilon"], method=_TOURED, theta=0.5
    )
    liked = set(range(items // 2))
    stars: dict[int | str, float] = {item: 5.0 if item in liked else 1.0 for item in range(items)}
    right = 0
    for _ in range(_DEVICES):
        report = Device(new_secret(), {}).report(campaign, range(items), stars)
        (asked,) = pairs(campaign, report.ticket)
        right += bool(report.bits) == liked.issuperset(asked)
    few, many = simulate(_TOURED, **_TOUR, users=(_FEW, _MANY), seed=1)
    one, two = (f"item {item}" for item in asked)
    card = cards(campaign)[0]
    return Tour(
        asked=f"Each device is asked one question, such as: do you like both {one} and {two}? "
        f"Nobody has to be trusted. {_MANY:,} generated people answer about {items} items.",
        left=f"One report of {len(report.encode())} bytes: a random number, which chose the "
        "question, and one bit, which is flipped with probability 0.27.",
        learned="About a person: an attacker who believes the bit is right in "
        f"{right / _DEVICES:.0%} of {_DEVICES:,} reports; a coin is right in 50 %. About the "
        f"items: {many.accuracy:.0%} are put into the right one of two clusters by {_MANY:,} "
        f"people, and {few.accuracy:.0%} by {_FEW:,}.",
        cost=f"Epsilon {card.epsilon:.3g} for one report and all of a person's ratings. It takes "
        "very many people: on MovieLens 100K popular items were better however many there were.",
        read_on="docs/sketches.md",
        figures={"right": right / _DEVICES, "few": few.to_dict(), "many": many.to_dict()},
    )
