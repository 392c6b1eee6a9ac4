"""Lists with a second item sum: pairs of likes, as they are released, and vectors, which are not.

    python benchmarks/studies/second_item_sum.py [--folder FOLDER/ml-100k] [--json]

Question   Sum 3 measures items along at most twelve directions of taste that public features span.
           With very many people its noise is small. Do lists gain if half of its 1/noise^2 asks
           about directions that features do not see, and from how many people on?
private    The package's release in mode 'auto': with pairs of likes above an effective population
           of 8,000, and without below.
tastes     The same in mode 'taste': sum 3 has all of its event.
pairs      The package's pairs of likes, whatever the number of people.
vectors    The second sum as a step of a power iteration. Of each person w = Q'(x - mu), x their
           unit row of likes, mu the released shares of likes and Q orthonormal columns over the
           head: the tastes B of items, then 100 columns drawn at random. One row for each like t in
           the head: y w_{-t}, with y = 1 / sqrt(likes in the head) and w_{-t} = w - Q_t x_t; the
           whole is clipped. From the sum come item vectors B_2 with B_2 B_2' near the covariance of
           likes; a list adds B_2 K_2 (B_2'x - B_2'mu), as own likes do. This sum alone has
           continuous noise from NumPy, as wide as the exact one would be: enough for figures, not
           for a release.
Budget     Equal for all lists.
Worlds     No rule or constant was chosen on them. MovieLens 100K has the noise that so many times
           more people would have: tastes are real, the number of people is not.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
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
from tacit.profile_sums.events import LIST_SUMS, combined_noise, noise_multipliers
from tacit.profile_sums.fitted_lists import PreparedFit, prepare_fit
from tacit.profile_sums.own_likes import fit_own_likes
from tacit.profile_sums.people import profiles_of_rows
from tacit.profile_sums.release import (
    ReleasedSums,
    TasteModel,
    TasteSums,
    make_lists,
    release_sums,
)
from tacit.profile_sums.scoring import score_items
from tacit.profile_sums.settings import Mode, Settings
from tacit.profile_sums.sums.heads import choose_head
from tacit.profile_sums.sums.item_tastes import make_item_tastes
from tacit.profile_sums.sums.like_pairs import (
    PAIRS_SHARE,
    PEOPLE_PER_PAIR_ITEM,
    choose_pair_head,
    release_like_pairs,
)
from tacit.profile_sums.sums.top_items import unit_like_rows
from tacit.recommenders.baselines import EASE, Popularity, PrivatePopularity

Floats = NDArray[np.float64]

EPSILONS = (1.0, 3.0, math.inf)
PENALTIES = (200.0, 500.0, 1000.0, 3000.0)
"""Penalties of EASE, of which the best on the test people counts."""
RANDOM_COLUMNS = 100
"""Columns of Q beside the tastes of items."""
VECTORS_CLIP = 0.4
"""Largest norm of one person's table of vectors."""
HEAD_OF_VECTORS = 5.0
"""Items of its head, over the root of the effective population, as in sum 3."""
LEAST_HEAD = 150
NO_EPSILON = "none"
MODES: dict[str, Mode] = {"private": "auto", "tastes": "taste"}


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


def noises_of(split: Split, epsilon: float) -> list[float]:
    """Return the noise multipliers of the four sums of lists, at the noise of the world."""
    noises = noise_multipliers(Settings(epsilon=epsilon))[:LIST_SUMS]
    return [split.noise_factor * noise for noise in noises]


def release_all(split: Split, settings: Settings, noises: Sequence[float]) -> ReleasedSums:
    """Release the sums of lists as the package does, with these multipliers."""
    n_items, features = split.n_items, split.prepared.features
    return release_sums(split.people, n_items, n_items, features, settings, noises)


@dataclass(frozen=True, eq=False)
class HalfRelease:
    """Sums 1 to 3, where sum 3 left half of its event for a second item sum."""

    sums: ReleasedSums
    settings: Settings
    second_noise: float
    """Noise multiplier of the second item sum; 0 without noise."""
    effective: float | None
    """Effective population by all of the budget; None without noise."""

    @property
    def tastes(self) -> TasteSums:
        """Sums 2a, 2b and 3."""
        assert isinstance(self.sums.later, TasteSums)
        return self.sums.later


def release_half(split: Split, epsilon: float) -> HalfRelease:
    """Release sums 1 to 3, and keep half of the event of sum 3."""
    settings = Settings(epsilon=epsilon, mode="taste")
    *first_noises, event_noise = noises_of(split, epsilon)
    item_noise = event_noise / math.sqrt(1 - PAIRS_SHARE)
    sums = release_all(split, settings, [*first_noises, item_noise])
    sigma = combined_noise([*first_noises, event_noise])
    return HalfRelease(
        sums=sums,
        settings=settings,
        second_noise=event_noise / math.sqrt(PAIRS_SHARE),
        effective=sums.counts.people / sigma if sigma else None,
    )


def score_with_pairs(split: Split, people: Profiles, half: HalfRelease) -> Floats:
    """Score by tastes and the package's pairs of likes. people: the test people."""
    effective = half.effective
    if effective is not None:
        effective = max(effective, LEAST_HEAD * PEOPLE_PER_PAIR_ITEM)
    head = choose_pair_head(half.sums.counts.targets, effective)
    pairs = release_like_pairs(split.people, head, split.n_items, half.second_noise)
    sums = replace(half.sums, later=replace(half.tastes, pairs=pairs))
    lists = make_lists(sums, split.prepared.features, half.settings)
    return score_items(people, lists, half.settings)


def score_with_vectors(
    split: Split, people: Profiles, half: HalfRelease, draws: np.random.Generator
) -> Floats:
    """Score by tastes, own likes through them, and own likes through learned vectors."""
    assert split.prepared.features is not None
    features = split.prepared.features
    lists = make_lists(half.sums, features, half.settings)
    assert isinstance(lists.personal, TasteModel)
    made = make_item_tastes(half.tastes.table, half.sums.counts, features.targets, half.settings)
    items = measure_vectors(split, half, lists.personal, made.shares, draws)
    own_likes = fit_own_likes(made.shares, items)
    likes = unit_like_rows(people, split.n_items)
    scores = score_items(people, lists, half.settings)
    return scores + own_likes.addition_to_taste(likes, items) @ items.T


def measure_vectors(
    split: Split,
    half: HalfRelease,
    model: TasteModel,
    shares: Floats,
    draws: np.random.Generator,
) -> Floats:
    """(items, vectors) B_2 from a step of a power iteration.

    With C = sum / people, an estimate of covariance times Q, and Q'C = U diag(lambda) U', B_2 is
    C U lambda^(-1/2), of the lambda that exceed the noise.
    """
    people, size = half.sums.counts.people, split.n_items
    if half.effective is not None:
        size = max(LEAST_HEAD, math.floor(HEAD_OF_VECTORS * math.sqrt(half.effective)))
    head = choose_head(shares, size)
    columns = start_columns(model.items[head], RANDOM_COLUMNS, draws)
    mean = columns.T @ np.maximum(shares[head], 0)
    clip = VECTORS_CLIP if half.second_noise else math.inf
    total = sum_vectors(sparse.csr_array(split.likes[:, head]), columns, mean, clip)
    deviation = half.second_noise * VECTORS_CLIP / people
    noisy = total / people + draws.normal(size=total.shape) * deviation
    within = columns.T @ noisy
    values, vectors = np.linalg.eigh((within + within.T) / 2)
    counted = values > max(deviation * math.sqrt(len(values)), 1e-6)
    along = noisy @ vectors[:, counted]
    # An entry's size is that of its item's share: rare items are shrunk most.
    squares = np.maximum(shares[head], 0) ** 2
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


def test_profiles(split: Split) -> Profiles:
    """Read the test people's profiles from their training rows."""
    train, settings = split.trial.train, split.prepared.settings
    rows = sparse.csr_array(train.matrix[split.trial.people])
    threshold = like_threshold(train.scale, settings.like_at)
    return profiles_of_rows(rows, split.prepared.sides, threshold, settings.other_weight)


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


def judge_releases(split: Split, epsilon: float) -> tuple[dict[str, float], float | None]:
    """Return NDCG@10 of what the package releases, by name, and the effective population."""
    people = test_profiles(split)
    figures, effective = {}, None
    for name, mode in MODES.items():
        settings = Settings(epsilon=epsilon, mode=mode)
        sums = release_all(split, settings, noises_of(split, epsilon))
        effective = sums.usefulness.effective_population
        lists = make_lists(sums, split.prepared.features, settings)
        figures[name] = split.judge(score_items(people, lists, settings))
    return figures, effective


def judge_forms(split: Split, epsilon: float, seed: int) -> dict[str, float]:
    """Return NDCG@10 of both forms of the second item sum, and of private popularity, by name."""
    figures = {}
    people = test_profiles(split)
    half = release_half(split, epsilon)
    figures["pairs"] = split.judge(score_with_pairs(split, people, half))
    draws = np.random.default_rng((seed, 13))
    figures["vectors"] = split.judge(score_with_vectors(split, people, half, draws))
    if math.isfinite(epsilon):
        popularity = PrivatePopularity(epsilon=epsilon)
        figures["private-popularity"] = judge_lists(popularity, split.trial).ndcg
    return figures


def measure_world(
    world: World, epsilons: Sequence[float], seeds: Sequence[int], *, only_released: bool
) -> Iterator[Row]:
    """Measure popularity, EASE and private lists on one world.

    Args:
        world: The world.
        epsilons: Of the private lists.
        seeds: Of its splits.
        only_released: Whether only what the package releases is measured.
    """
    bounds: dict[str, list[float]] = {"popularity": [], "ease": []}
    figures: dict[float, dict[str, list[float]]] = {epsilon: {} for epsilon in epsilons}
    effective: dict[float, float | None] = {}
    for seed in seeds:
        split = read_split(world, seed)
        bounds["popularity"].append(judge_lists(Popularity(likes=True), split.trial).ndcg)
        tried = [judge_lists(EASE(penalty=penalty), split.trial).ndcg for penalty in PENALTIES]
        bounds["ease"].append(max(tried))
        for epsilon in epsilons:
            measured, effective[epsilon] = judge_releases(split, epsilon)
            if not only_released:
                measured |= judge_forms(split, epsilon, seed)
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


def list_worlds(folder: Path | None) -> Iterator[World]:
    """Give the worlds that no setting was chosen on. folder: of MovieLens 100K, if it is there."""
    if folder is not None:
        for people in (6_040, 20_000, 100_000):
            name = f"MovieLens 100K, noise as of {people:,} people"
            yield World(name, partial(tacit.load, folder), people)
    yield World("films, 20,000 people", partial(films, 20_000, seed=21))
    yield World("generated, 40 labels, 20,000 people", partial(generate_people, 20_000, 40, 32))
    for people, seed in ((12_000, 34), (20_000, 31), (100_000, 33)):
        name = f"generated, 8 labels, {people:,} people"
        yield World(name, partial(generate_people, people, 8, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="of MovieLens 100K; without it none is used")
    parser.add_argument("--worlds", default="", help="only worlds whose names hold this text")
    parser.add_argument("--epsilon", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=2, help="splits of each world")
    parser.add_argument("--only-released", action="store_true", help="private and tastes alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for world in list_worlds(options.folder):
        if options.worlds not in world.name:
            continue
        seeds = range(100, 100 + options.seeds)
        for row in measure_world(
            world, options.epsilon, seeds, only_released=options.only_released
        ):
            rows.append(row)
            if not options.json:
                effective = "" if row.effective is None else f"; effective {row.effective:,.0f}"
                print(
                    f"{row.world}; epsilon {row.epsilon}{effective}; {row.lists}: {row.ndcg:.4f}, "
                    f"kept {row.kept:.3f}",
                    flush=True,
                )
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
