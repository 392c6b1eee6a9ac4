"""Layered path aggregation, compiled: equal to the last bit to `paths.paths`.

Depth first, with what a path gathered so far kept for each stage; the last stage is one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from tacit.engine.base import Floats, Numbers, Stage
from tacit.engine.paths import check


def paths(stages: Sequence[Stage], starts: Numbers) -> tuple[Floats, Floats]:
    """`Engine.paths`: beside the answer it needs one copy of the edges."""
    check(stages, starts)
    edges = np.cumsum([0] + [len(stage.targets) for stage in stages])
    places = np.cumsum([0] + [len(stage.offsets) for stage in stages])
    sums = np.zeros((2, len(starts), stages[-1].width))
    _sum_paths(
        # One array for all stages: where an edge goes is counted from the first stage's first.
        np.concatenate(
            [stage.offsets + first for stage, first in zip(stages, edges, strict=False)]
        ),
        places,
        np.concatenate([stage.targets for stage in stages]).astype(np.uint32),
        np.concatenate([stage.agreements * stage.similarities for stage in stages]),
        np.concatenate([stage.agreements for stage in stages]),
        np.concatenate([stage.shares for stage in stages]),
        np.asarray(starts, dtype=np.int64),
        sums[0],
        sums[1],
    )
    return sums[0], sums[1]


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sum_paths(
    offsets: Any, places: Any, targets: Any, weighted: Any, agreements: Any, shares: Any,
    starts: Any, numerators: Any, denominators: Any,
) -> None:  # fmt: skip
    last = len(places) - 2
    edge, stop = np.zeros(last + 1, np.int64), np.zeros(last + 1, np.int64)
    # What the path gathered before each stage.
    sums, totals = np.zeros(last + 1), np.zeros(last + 1)
    certainties = np.ones(last + 1)
    for line in range(len(starts)):
        above, below = numerators[line], denominators[line]
        stage = 0
        edge[0], stop[0] = offsets[starts[line]], offsets[starts[line] + 1]
        while stage >= 0:
            if stage == last:
                a, s, c = sums[stage], totals[stage], certainties[stage]
                begin, end = edge[stage], stop[stage]
                target, weight = targets[begin:end], weighted[begin:end]
                agreement, share = agreements[begin:end], shares[begin:end]
                for e in range(np.uintp(len(target))):
                    certainty = c * share[e]
                    above[target[e]] += certainty * ((a + weight[e]) / (s + agreement[e]))
                    below[target[e]] += certainty
                stage -= 1
            elif edge[stage] == stop[stage]:
                stage -= 1
            else:
                e = edge[stage]
                edge[stage] += 1
                sums[stage + 1] = sums[stage] + weighted[e]
                totals[stage + 1] = totals[stage] + agreements[e]
                certainties[stage + 1] = certainties[stage] * shares[e]
                place = places[stage + 1] + np.int64(targets[e])
                stage += 1
                edge[stage], stop[stage] = offsets[place], offsets[place + 1]
