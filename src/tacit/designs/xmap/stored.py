"""The published variant learned where ratings are stored: the boxes of `bridge`, by joins of items.

Equal to a fit in memory to the last bit, but where item means are sums of stars that floats round:
those are added in another order.

Source     as of `bridge`, `extender`, `generator` and `private_neighbours`, whose code it uses.
Runs at    the platform: here at the driver, tiles and paths at the workers, which are trusted too.
Releases   what a fit in memory releases. Draws and noise are made here, once, from what comes back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.stored import StoredRatings, in_memory
from tacit.designs.xmap.bridge import Bridge
from tacit.designs.xmap.extender import Baseline, centred, extend, means_of_people
from tacit.designs.xmap.generator import alter_egos, drawn_as_published, images
from tacit.designs.xmap.private_neighbours import Candidates, candidates_of, drawn_lists
from tacit.designs.xmap.recommender import ItemNeighbours, most_similar, pattern, votes_of
from tacit.designs.xmap.settings import TASK_ROWS, Catalogue, Cost, Settings
from tacit.engine import Engine, Floats, Numbers, Table
from tacit.engine.item_item import MOST, PART, TiledTable, cut_up
from tacit.errors import DataError
from tacit.randomness import Source

_HELD = 1 << 25  # candidates held at once, 24 bytes each
_SENT = 1 << 21  # candidates of a message
_BLOCK = 256
_SENDS = 3  # of a rating for each part of a domain: three joins
_START, _OF_ITEM = 5.0, 0.8e-3  # core seconds of a process; of an item's paths
_OF_RATING, _OF_TASK_RATING, _OF_SENT = 0.8e-6, 1.0e-6, 0.25e-6
_OF_PAIR = 17e-9  # two ratings of one person
_ROW, _STRIP, _PROCESS = 22, 14, 0.45e9  # bytes
_NAMES = ("number", "similar", "sensitive")
_LIST = np.dtype([("item", "<i4"), *zip(_NAMES, ("<i4", "<f8", "<f8"), strict=True)])


def cost(ratings: float, people: float, items: float) -> Cost:
    """Of a fit without noise to ratings of two domains of about equal size, `items` in all.

    The constants were measured: docs/results.md.
    """
    parts = max(1, math.ceil(ratings / 2 / PART), math.ceil(items / 2 / MOST))
    sent = _SENDS * parts * ratings
    pairs = ratings * ratings / people
    common = _START + _OF_ITEM * items
    alone = common + _OF_RATING * ratings + _OF_PAIR * pairs
    more = _OF_TASK_RATING * ratings + _OF_SENT * sent + _OF_PAIR * pairs
    return Cost(
        passes=8,
        tasks=max(4, math.ceil(ratings / TASK_ROWS)),
        tiles=parts**2 + parts * (parts + 1) // 2,
        shuffle_bytes=int(_ROW * ratings + _STRIP * sent),
        worker_bytes=int(_PROCESS + 150 * min(ratings, max(2 * PART, TASK_ROWS))),
        core_hours=alone / 3600,
        cluster_core_hours=(alone + more) / 3600,
    )


def bridges(
    ratings: StoredRatings, catalogue: Catalogue, settings: Settings, engine: Engine, draws: Source
) -> dict[str, Bridge]:
    """Each target. ConfigError for the user-based recommender, which needs everybody's profile."""
    if settings.recommender == "user-based":
        in_memory(ratings)
    sums, counts = ratings.total(_stars_of_items)
    means = np.zeros(len(counts))
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.targets(name)
        overall = sums[items].sum() / max(1.0, counts[items].sum())
        found = np.full(len(items), overall)
        means[items] = np.divide(sums[items], counts[items], out=found, where=counts[items] > 0)
    raters = counts.astype(np.int64)
    return {
        target: _bridge(ratings, catalogue, target, means, raters, settings, engine, draws)
        for target in catalogue.routes.targets
    }


def _bridge(
    ratings: StoredRatings, catalogue: Catalogue, target: str, item_means: Floats,
    raters: NDArray[np.int64], settings: Settings, engine: Engine, draws: Source,
) -> Bridge:  # fmt: skip
    sources, targets = catalogue.sources(target), catalogue.targets(target)
    if not raters[targets].any():
        raise DataError("nobody rated anything in the target domain", found=target)
    used = np.zeros(len(raters), np.bool_)
    used[sources] = used[targets] = True
    here, stars = np.where(used, raters, 0), partial(_stars, used=used)
    table = TiledTable.of(ratings, stars, centred, here)
    extension = extend(
        Baseline(table, item_means, here), sources, targets, k=settings.extender_k,
        most_edges=settings.most_edges, significance=settings.significance, engine=engine,
    )  # fmt: skip
    draw, places = drawn_as_published(settings.epsilon, draws), np.full(len(raters), -1, np.int32)
    places[sources] = images(extension, sources, draw, engine, ratings.spread)
    profiles = partial(_profiles, used=used, item_means=item_means, images=places, targets=targets)
    lists = None
    if settings.noiseless:
        who = TiledTable.of(ratings, stars, pattern, here)
        among = np.flatnonzero(used).astype(np.int32)
        lists = votes_of(who, here, targets, among, engine)
    return Bridge(
        targets=targets,
        images=places,
        item_means=item_means,
        neighbours=_neighbours(
            TiledTable.of(ratings, profiles, centred), item_means[targets], settings, engine, draws
        ),
        k=settings.k,
        alpha=settings.alpha,
        lowest=ratings.catalogue.scale.minimum,
        engine=engine,
        lists=lists,
    )


def _neighbours(
    table: TiledTable, means: Floats, settings: Settings, engine: Engine, draws: Source
) -> ItemNeighbours:
    if settings.budget is None:
        found = most_similar(table, k=settings.k, significance=settings.significance, engine=engine)
        return ItemNeighbours(means, found.items, found.similarities)
    lists = _candidates(table, settings.significance)
    return drawn_lists(lists, means, settings.k, settings.budget, draws)


def _stars_of_items(block: Ratings) -> Floats:
    """(2, items) sums of stars, and how many."""
    stars = np.bincount(block.items, block.values, block.n_items)
    counts = np.bincount(block.items, minlength=block.n_items)
    return np.stack([stars, counts]).astype(np.float64)  # of nobody they are integers


def _stars(block: Ratings, *, used: NDArray[np.bool_]) -> tuple[sparse.csr_array, Floats]:
    """Stars of the items in use, and people's means."""
    stars = block.where(used[block.items]).matrix
    return stars, means_of_people(stars)[1]


def _profiles(
    block: Ratings, *, used: NDArray[np.bool_], item_means: Floats, images: Numbers,
    targets: Numbers,
) -> tuple[sparse.csr_array, Floats]:  # fmt: skip
    """AlterEgos, and their means."""
    stars, _ = _stars(block, used=used)
    made = alter_egos(stars, None, item_means=item_means, images=images, targets=targets).stars
    return made, means_of_people(made)[1]


def _candidates(table: TiledTable, significance: int) -> Iterator[Candidates]:
    """Of each item, for some items at a time."""
    width = len(table.raters)
    at_once = max(1, _HELD // width // _BLOCK) * _BLOCK
    every = np.arange(width, dtype=np.int32)
    for start in range(0, width, at_once):
        asked = (every >= start) & (every < start + at_once)
        rated = table.raters > 0
        mine = cut_up(every[asked & rated], table.raters, max(1, _SENT // width))
        rest = cut_up(every[~asked & rated], table.raters)
        parts = [*mine, *rest]
        joins = [(0, x, y) for x in range(len(mine)) for y in range(len(parts))]
        work = partial(_listed, parts=parts, mine=len(mine), significance=significance)
        lines = table.joined(parts, joins, work, _sorted)
        raws = [np.frombuffer(raw, _LIST) for _, raw in sorted(lines.items())]
        found = np.concatenate([np.zeros(0, _LIST), *raws])
        last = min(start + at_once, width)
        bounds = np.searchsorted(found["item"], np.arange(start, last + 1)).tolist()
        for begin, end in pairwise(bounds):
            own = found[begin:end]
            yield Candidates(own["number"], own["similar"], own["sensitive"])


def _listed(
    table: Table, x: int, y: int, *, parts: Sequence[Numbers], mine: int, significance: int
) -> Iterator[tuple[int, bytes]]:
    for of, among in {(x, y), (y, x)}:
        if of < mine:
            lists = [*candidates_of(table.values, parts[of], parts[among], significance)]
            found = np.zeros(sum(len(each.numbers) for each in lists), _LIST)
            counts = [len(each.numbers) for each in lists]
            found["item"] = np.repeat(parts[of], counts)
            for name, values in zip(_NAMES, zip(*lists, strict=True), strict=True):
                found[name] = np.concatenate(values)
            yield of, found.tobytes()


def _sorted(raws: list[bytes]) -> bytes:
    found = np.concatenate([np.frombuffer(raw, _LIST) for raw in raws])
    return found[np.lexsort((found["number"], found["item"]))].tobytes()
