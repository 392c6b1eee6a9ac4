"""A second item sum on learned vectors, beside the release of today and EASE.

    python benchmarks/studies/second_item_sum.py choose [--json]
    python benchmarks/studies/second_item_sum.py report [--folder FOLDER/ml-100k] [--json]

Question   Sum 3 measures items along at most twelve directions of taste that public features span.
           With very many people its noise is small. Do lists gain if a part of its share asks
           about directions that features do not see?
Vectors    The second sum as a step of a power iteration. Of each person w = Q'(x - mu), x their
           unit row of likes, mu the released shares of likes and Q orthonormal columns over the
           head: the tastes B of items, then columns drawn at random. One row for each like t in the
           head: y w_{-t}, with y = 1 / sqrt(likes in the head) and w_{-t} = w - Q_t x_t; the whole
           is clipped.
Products   The second sum as the Gram matrix of a head: one triangle of y y', norm 1. It needs no
           vectors, so that it may be drawn at the same time as sum 3.
Served     From either sum come item vectors B_2 with B_2 B_2' near the covariance of likes, without
           its diagonal. They are served like own likes: a list adds B_2 K_2 (B_2'x - B_2'mu).
Noise      Sums 1 to 3 are drawn by the package. The second sum has continuous noise from NumPy, as
           wide as the exact one would be: enough for figures, not for a release.
Budget     Equal: sum 3 gives the part `share` of its 1/noise^2 to the second sum.
choose     Tries all of `CHOICES` on generated worlds.
report     The best of either kind on worlds of other kinds, sizes and seeds. MovieLens 100K has the
           noise that so many times more people would have: tastes are real, the number of people
           is not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

import tacit
from tacit.data import generate
from tacit.data.ratings import Ratings
from tacit.data.synthetic_worlds import films
from tacit.engine.profile_kernels.types import Profiles
from tacit.evaluation import mean_interval
from tacit.evaluation.lists import ListTrial, judge_lists, list_trial
from tacit.evaluation.metrics import ranking_metrics
from tacit.profile_sums.catalogue import CatalogueChoices, like_threshold
from tacit.profile_sums.events import LIST_SUMS, noise_multipliers
from tacit.profile_sums.fitted_lists import PreparedFit, prepare_fit
from tacit.profile_sums.own_likes import fit_own_likes
from tacit.profile_sums.people import profiles_of_rows
from tacit.profile_sums.release import (
    ReleasedLists,
    ReleasedSums,
    TasteModel,
    TasteSums,
    make_lists,
    release_sums,
)
from tacit.profile_sums.scoring import score_items
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.heads import choose_head
from tacit.profile_sums.sums.item_tastes import make_item_tastes
from tacit.profile_sums.sums.top_items import unit_like_rows, unit_rows
from tacit.recommenders.baselines import EASE, Popularity, PrivatePopularity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kind = Literal["vectors", "products"]

EPSILONS = (1.0, 3.0, math.inf)
PENALTIES = (200.0, 500.0, 1000.0, 3000.0)
"""Penalties of EASE, of which the best on the test people counts."""
VECTORS_CLIP = 0.4
"""Largest norm of one person's table of vectors."""
HEAD_OF_VECTORS = 5.0
"""Items of its head, over the root of the effective population, as in sum 3."""
LEAST_HEAD = 150
MOST_ITEMS, MOST_VECTORS = 800, 40
"""Items in a head of products at most; item vectors at most."""


@dataclass(frozen=True)
class SecondSum:
    """Choices of the second item sum."""

    kind: Kind
    share: float
    """Part of sum 3's 1/noise^2 that it takes."""
    size: int
    """Of vectors: random columns beside those of B. Of products: people a head's item needs, in
    effective people."""
    keeps_first: bool
    """Whether own likes also go through B, as in the release of today."""

    def __str__(self) -> str:
        kept = "with" if self.keeps_first else "without"
        return f"{self.kind}, share {self.share:g}, size {self.size}, {kept} B"


def list_choices(kind: Kind, sizes: Sequence[int]) -> list[SecondSum]:
    """List all choices of one kind that are tried."""
    points = itertools.product((0.3, 0.5), sizes, (True, False))
    return [SecondSum(kind, *point) for point in points]


CHOICES = (*list_choices("vectors", (24, 100)), *list_choices("products", (12, 25)))
BEST = (
    SecondSum("vectors", 0.5, 100, True),
    SecondSum("products", 0.5, 25, False),
)
"""The best of either kind by `choose`."""
TODAY = "private"
NO_EPSILON = "none"
TOP_ITEMS = "private, mode top-items"


@dataclass(frozen=True)
class World:
    """Ratings that are made or read, with the noise of so many people."""

    name: str
    ratings: Callable[[], Ratings]
    people: int | None = None
    """Noise is as of so many people; None: as of those there are."""


@dataclass(frozen=True, eq=False)
class Split:
    """One split, read once for all fits."""

    trial: ListTrial
    prepared: PreparedFit
    people: Profiles
    """Everybody's profile."""
    likes: sparse.csr_array
    """(people, items) unit rows of likes of everybody."""
    noise_factor: float
    """Factor of all noise multipliers: below 1 as if there were more people."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.likes.shape[1])

    def judge(self, scores: Floats) -> float:
        """Return NDCG@10 of the test people's lists. scores: (test people, items)."""
        rated = self.trial.train.matrix[self.trial.people].tocoo()
        scores = scores.copy()
        scores[rated.row, rated.col] = -np.inf
        lists = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        return float(ranking_metrics(lists, self.trial.relevant).ndcg)


@dataclass(frozen=True, eq=False)
class TasteRelease:
    """A release of tastes whose third sum left something for the second item sum."""

    sums: ReleasedSums
    lists: ReleasedLists
    model: TasteModel
    shares: Floats
    """(items,) released shares of likes by sums 1 and 3."""
    second_noise: float
    """Noise multiplier of the second item sum; 0 without noise."""


def read_split(world: World, seed: int) -> Split:
    """Split a world's ratings and read everybody's profile."""
    ratings = world.ratings()
    trial = list_trial(ratings, seed=seed)
    prepared = prepare_fit(trial.train, Settings(), CatalogueChoices())
    people = prepared.people
    assert isinstance(people, Profiles)  # the ratings are in memory
    likes = unit_like_rows(people, ratings.n_items)
    factor = 1.0 if world.people is None else ratings.n_users / world.people
    return Split(trial, prepared, people, likes, factor)


def release_tastes(split: Split, epsilon: float, share: float) -> TasteRelease:
    """Release tastes where sum 3 gives `share` of its 1/noise^2 away."""
    settings = Settings(epsilon=epsilon, mode="taste")
    noises = [split.noise_factor * noise for noise in noise_multipliers(settings)[:LIST_SUMS]]
    second_noise = noises[3] / math.sqrt(share) if share else 0.0
    noises[3] /= math.sqrt(1 - share)
    prepared = split.prepared
    sums = release_sums(
        split.people, split.n_items, split.n_items, prepared.features, settings, noises
    )
    lists = make_lists(sums, prepared.features, settings)
    assert isinstance(sums.later, TasteSums)
    assert isinstance(lists.personal, TasteModel)
    assert prepared.features is not None
    items = make_item_tastes(sums.later.table, sums.counts, prepared.features.targets, settings)
    return TasteRelease(sums, lists, lists.personal, items.shares, second_noise)


def measure_products(
    split: Split, release: TasteRelease, choice: SecondSum, draws: np.random.Generator
) -> Floats:
    """(items, vectors) B_2 from the Gram matrix of a head.

    Entries beside the diagonal have noise / sqrt(2) if sqrt(2) of each is released with it. With
    C = Gram / people - mu mu', its diagonal replaced by that of its large part, and d the deviation
    of C's noise, eigenvalues above 2 d sqrt(head) are kept, shrunk to lambda - head d^2 / lambda.
    """
    effective, people = release.sums.usefulness.effective_population, release.sums.counts.people
    size = MOST_ITEMS if effective is None else round(effective / choice.size)
    head = choose_head(release.shares, min(max(size, LEAST_HEAD), MOST_ITEMS))
    rows = unit_rows(split.people, head, likes=True)
    deviation = release.second_noise / math.sqrt(2) / people
    noise = np.triu(draws.normal(size=(len(head), len(head))) * deviation, 1)
    shares = np.maximum(release.shares[head], 0)
    covariance = rows.T @ rows / people + noise + noise.T - np.outer(shares, shares)
    np.fill_diagonal(covariance, 0)
    first = max(len(head) - MOST_VECTORS, 0)
    top = (first, len(head) - 1)
    least = max(2 * deviation * math.sqrt(len(head)), 1e-6)
    for _ in range(4):
        values, vectors = scipy.linalg.eigh(covariance, subset_by_index=top)
        values, vectors = values[values > least], vectors[:, values > least]
        np.fill_diagonal(covariance, (vectors**2) @ values)
    shrunk = np.maximum(values - len(head) * deviation**2 / values, 0)
    items = np.zeros((split.n_items, len(values)))
    items[head] = vectors * np.sqrt(shrunk)
    return items


def measure_vectors(
    split: Split, release: TasteRelease, choice: SecondSum, draws: np.random.Generator
) -> Floats:
    """(items, vectors) B_2 from a step of a power iteration.

    With C = sum / people, an estimate of covariance times Q, and Q'C = U diag(lambda) U', B_2 is
    C U lambda^(-1/2), of the lambda that exceed the noise.
    """
    effective, people = release.sums.usefulness.effective_population, release.sums.counts.people
    size = split.n_items
    if effective is not None:
        size = max(LEAST_HEAD, math.floor(HEAD_OF_VECTORS * math.sqrt(effective)))
    head = choose_head(release.shares, size)
    columns = start_columns(release.model.items[head], choice.size, draws)
    mean = columns.T @ np.maximum(release.shares[head], 0)
    clip = VECTORS_CLIP if release.second_noise else math.inf
    total = sum_vectors(sparse.csr_array(split.likes[:, head]), columns, mean, clip)
    deviation = release.second_noise * VECTORS_CLIP / people
    noisy = total / people + draws.normal(size=total.shape) * deviation
    within = columns.T @ noisy
    values, vectors = np.linalg.eigh((within + within.T) / 2)
    counted = values > max(deviation * math.sqrt(len(values)), 1e-6)
    along = noisy @ vectors[:, counted]
    # An entry's size is that of its item's share: rare items are shrunk most.
    squares = np.maximum(release.shares[head], 0) ** 2
    beyond = (along**2).sum(axis=0) - len(head) * deviation**2
    spread = np.outer(squares / squares.sum(), np.maximum(beyond, 1e-12))
    items = np.zeros((split.n_items, along.shape[1]))
    strengths = spread / np.maximum(spread + deviation**2, 1e-30) if deviation else 1.0
    items[head] = along * strengths / np.sqrt(values[counted])
    return items


def start_columns(tastes: Floats, extra: int, draws: np.random.Generator) -> Floats:
    """(head, columns) Q: orthonormal, spanning B and then random columns."""
    lengths = np.maximum(np.linalg.norm(tastes, axis=0), 1e-12)
    extra = min(extra, len(tastes) - tastes.shape[1])
    random = draws.normal(size=(len(tastes), extra)) / math.sqrt(len(tastes))
    columns: Floats = np.linalg.qr(np.hstack([tastes / lengths, random]))[0]
    return columns


def sum_vectors(inside: sparse.csr_array, columns: Floats, mean: Floats, clip: float) -> Floats:
    """(head, columns) sum of everybody's clipped table, before noise.

    With L a person's likes in the head, y = 1 / sqrt(|L|) and w = Q'x - Q'mu, the square of a
    table's norm is y^2 sum over L of |w - Q_t x_t|^2.

    Args:
        inside: (people, head) unit rows of likes, those in the head.
        columns: (head, columns) Q.
        mean: (columns,) Q'mu.
        clip: Largest norm of one person's table; infinite: none.
    """
    vectors = inside @ columns - mean
    counts = np.diff(inside.indptr)
    own = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
    with_values = partial(_replace_values, inside)
    norms = np.where(counts > 0, (vectors**2).sum(axis=1), 0.0)
    norms -= 2 * ((with_values(own**2 * inside.data) @ columns) * vectors).sum(axis=1)
    norms += with_values((own * inside.data) ** 2) @ (columns**2).sum(axis=1)
    scales = np.minimum(1, clip / np.sqrt(np.maximum(norms, 1e-18)))
    total: Floats = with_values(own).T @ (vectors * scales[:, None])
    total -= (with_values(own * inside.data).T @ scales)[:, None] * columns
    return total


def _replace_values(rows: sparse.csr_array, values: Floats) -> sparse.csr_array:
    return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


MEASURE = {"vectors": measure_vectors, "products": measure_products}


def test_profiles(split: Split) -> Profiles:
    """Read the test people's profiles from their training rows."""
    train, settings = split.trial.train, split.prepared.settings
    rows = sparse.csr_array(train.matrix[split.trial.people])
    threshold = like_threshold(train.scale, settings.like_at)
    return profiles_of_rows(rows, split.prepared.sides, threshold, settings.other_weight)


def judge_second_sum(
    split: Split, people: Profiles, release: TasteRelease, choice: SecondSum, seed: int
) -> float:
    """Return NDCG@10 of lists from sums 1 to 3 and the second item sum."""
    draws = np.random.default_rng((seed, 13))
    items = MEASURE[choice.kind](split, release, choice, draws)
    own_likes = fit_own_likes(release.shares, items)
    lists = release.lists
    if not choice.keeps_first:
        lists = replace(lists, personal=replace(release.model, own_likes=None))
    scores = score_items(people, lists, split.prepared.settings)
    scores += own_likes.add_to_taste(unit_like_rows(people, split.n_items), items) @ items.T
    return split.judge(scores)


def judge_top_items(split: Split, people: Profiles, epsilon: float) -> float:
    """Return NDCG@10 of lists that mode top-items makes: a Gram matrix in place of tastes."""
    settings = Settings(epsilon=epsilon, mode="top-items")
    noises = [split.noise_factor * noise for noise in noise_multipliers(settings)[:LIST_SUMS]]
    sums = release_sums(split.people, split.n_items, split.n_items, None, settings, noises)
    return split.judge(score_items(people, make_lists(sums, None, settings), settings))


@dataclass(frozen=True)
class Row:
    """NDCG@10 of one kind of lists on one world."""

    world: str
    epsilon: float | str
    lists: str
    effective: float | None
    """Effective population of the last seed; None without noise."""
    ndcg: float
    low: float | None
    """Lower end of the 95 % interval over splits with new noise; None from one split."""
    high: float | None
    """Upper end of it."""
    kept: float
    """Share of EASE's gain over popularity."""


def judge_split(
    split: Split, epsilon: float, choices: Sequence[SecondSum], seed: int
) -> tuple[dict[str, float], float | None]:
    """Return NDCG@10 of all private lists at one epsilon, by name, and the effective population."""
    people = test_profiles(split)
    today = release_tastes(split, epsilon, 0.0)
    figures = {
        TODAY: split.judge(score_items(people, today.lists, split.prepared.settings)),
        TOP_ITEMS: judge_top_items(split, people, epsilon),
    }
    releases = {share: release_tastes(split, epsilon, share) for share in _shares(choices)}
    for choice in choices:
        release = releases[choice.share]
        figures[str(choice)] = judge_second_sum(split, people, release, choice, seed)
    if math.isfinite(epsilon):
        popularity = PrivatePopularity(epsilon=epsilon)
        figures["private-popularity"] = judge_lists(popularity, split.trial).ndcg
    return figures, today.sums.usefulness.effective_population


def _shares(choices: Sequence[SecondSum]) -> set[float]:
    return {choice.share for choice in choices}


def measure_world(
    world: World, epsilons: Sequence[float], choices: Sequence[SecondSum], seeds: Sequence[int]
) -> Iterator[Row]:
    """Measure popularity, EASE, the release of today and all choices on one world."""
    bounds: dict[str, list[float]] = {"popularity": [], "ease": []}
    figures: dict[float, dict[str, list[float]]] = {epsilon: {} for epsilon in epsilons}
    effective: dict[float, float | None] = {}
    for seed in seeds:
        split = read_split(world, seed)
        bounds["popularity"].append(judge_lists(Popularity(likes=True), split.trial).ndcg)
        tried = [judge_lists(EASE(penalty=penalty), split.trial).ndcg for penalty in PENALTIES]
        bounds["ease"].append(max(tried))
        for epsilon in epsilons:
            measured, effective[epsilon] = judge_split(split, epsilon, choices, seed)
            for name, figure in measured.items():
                figures[epsilon].setdefault(name, []).append(figure)
    least = float(np.mean(bounds["popularity"]))
    gain = float(np.mean(bounds["ease"])) - least
    for name, values in bounds.items():
        yield _make_row(world.name, NO_EPSILON, name, None, values, (least, gain))
    for epsilon, by_name in figures.items():
        shown = epsilon if math.isfinite(epsilon) else "inf"
        for name, values in by_name.items():
            yield _make_row(world.name, shown, name, effective[epsilon], values, (least, gain))


def _make_row(
    world: str,
    epsilon: float | str,
    name: str,
    effective: float | None,
    values: Sequence[float],
    scale: tuple[float, float],
) -> Row:
    """Make a row. scale: popularity, and EASE's gain over it."""
    mean = float(np.mean(values))
    low, high = None, None
    if len(values) > 1:
        interval = mean_interval(values, bounds=(0.0, 1.0))
        low, high = interval.low, interval.high
    return Row(world, epsilon, name, effective, mean, low, high, (mean - scale[0]) / scale[1])


def generate_people(people: int, labels: int, seed: int) -> Ratings:
    """Generate people with 60 ratings each of 1,000 items."""
    return generate(users=people, items=1000, ratings=60 * people, labels=labels, seed=seed)


CHOSEN_ON = (
    World("generated, 4 labels, 20,000 people", partial(generate_people, 20_000, 4, 11)),
    World("generated, 18 labels, 20,000 people", partial(generate_people, 20_000, 18, 12)),
)


def worlds_of_report(folder: Path | None) -> Iterator[World]:
    """Give the worlds that no setting was chosen on. folder: of MovieLens 100K, if it is there."""
    if folder is not None:
        for people in (6_040, 20_000, 100_000):
            name = f"MovieLens 100K, noise as of {people:,} people"
            yield World(name, partial(tacit.load, folder), people)
    yield World("films, 20,000 people", partial(films, 20_000, seed=21))
    yield World("generated, 8 labels, 20,000 people", partial(generate_people, 20_000, 8, 31))
    yield World("generated, 40 labels, 20,000 people", partial(generate_people, 20_000, 40, 32))
    yield World("generated, 8 labels, 100,000 people", partial(generate_people, 100_000, 8, 33))


def choose() -> Iterator[Row]:
    """Measure all choices on the worlds that settings are chosen on."""
    for world in CHOSEN_ON:
        yield from measure_world(world, (1.0, 3.0), CHOICES, (0,))


def report(folder: Path | None, seeds: int) -> Iterator[Row]:
    """Measure the best choice of either kind on other worlds."""
    for world in worlds_of_report(folder):
        yield from measure_world(world, EPSILONS, BEST, range(100, 100 + seeds))


def rank_choices(rows: Sequence[Row]) -> list[tuple[float, str]]:
    """Rank lists by the mean share of EASE's gain over all worlds and epsilons."""
    kept: dict[str, list[float]] = {}
    for row in rows:
        if row.epsilon != NO_EPSILON:
            kept.setdefault(row.lists, []).append(row.kept)
    return sorted(((float(np.mean(values)), name) for name, values in kept.items()), reverse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["choose", "report"], nargs="?", default="report")
    parser.add_argument("--folder", type=Path, help="of MovieLens 100K; without it none is used")
    parser.add_argument("--seeds", type=int, default=2, help="of the report")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = choose() if options.what == "choose" else report(options.folder, options.seeds)
    rows = []
    for row in measured:
        rows.append(row)
        if not options.json:
            print(
                f"{row.world}; epsilon {row.epsilon}; {row.lists}: {row.ndcg:.4f}, "
                f"kept {row.kept:.3f}",
                flush=True,
            )
    ranked = rank_choices(rows)
    if options.json:
        ranking = [{"lists": name, "kept": kept} for kept, name in ranked]
        print(json.dumps({"rows": [asdict(row) for row in rows], "ranked": ranking}, indent=1))
        return
    for kept, name in ranked:
        print(f"{name}: {kept:.3f} of EASE's gain, mean")


if __name__ == "__main__":
    main()
