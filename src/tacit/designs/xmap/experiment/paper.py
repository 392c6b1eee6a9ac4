"""Figures of X-Map's paper that are not errors: similarities found, and speed by workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.designs.xmap.extender import baseline, blocks_of, extend, similarities
from tacit.designs.xmap.model import XMap
from tacit.engine.compiled import CompiledEngine
from tacit.engine.local import blocks

_CELLS = 1 << 22
"""Pairs of items held at once."""


def similarities_found(ratings: Ratings, source: str, target: str) -> dict[str, int]:
    """How many pairs of an item of each domain have a similarity.

    adjusted_cosine: pairs with a cosine that is not 0, from people who rated both. x_sim: pairs
    that a meta-path joins, with the neighbours an item keeps by default. pairs: all.
    """
    sources = items_in(ratings, source).astype(np.int32)
    targets = items_in(ratings, target).astype(np.int32)
    base = baseline(ratings.matrix)
    engine, settings = CompiledEngine(), XMap(target=target).settings
    found = extend(
        base,
        sources,
        targets,
        k=settings.extender_k,
        significance=settings.significance,
        engine=engine,
    )
    centred = base.table.values
    shape = (len(sources), len(targets))
    direct = sum(
        int((centred[:, sources[part]].T @ centred[:, targets]).count_nonzero())
        for part in blocks(shape, _CELLS)
    )
    reached = sum(
        int(np.isfinite(similarities(found, sources[part], engine)).sum())
        for part in blocks_of(found, sources)
    )
    return {"adjusted_cosine": direct, "x_sim": reached, "pairs": shape[0] * shape[1]}


def speed_up(
    run: Callable[[str, int], object], methods: Sequence[str], workers: Sequence[int]
) -> list[dict[str, Any]]:
    """Seconds by the clock of `run(method, workers)`, and how many times faster than the first."""
    rows: list[dict[str, Any]] = []
    for method in methods:
        first = 0.0
        for number in workers:
            started = time.perf_counter()
            run(method, number)
            seconds = time.perf_counter() - started
            first = first or seconds
            rows.append(
                {
                    "method": method,
                    "workers": number,
                    "seconds": seconds,
                    "speed_up": first / seconds,
                }
            )
    return rows
