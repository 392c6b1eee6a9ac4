"""Pairs for noise on whole tables, to which a person adds a row or several.

The claim is that of zCDP, which is the same on every grid; on fine ones the event costs less.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing.bench import Pair, Subject
from tacit.auditing.shipped_noise import DELTA, gaussian_pair
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease

_JUST_BELOW = math.sqrt(6)  # as a float: squared it is a trifle less than 6, so 5 whole squares fit


def gram_release(noise_multiplier: float = 1.0) -> Subject:
    def pair(
        name: str,
        a: list[list[float]],
        b: list[list[float]],
        share: int = 1_000,
        items: int = 2,
        norm: float = 1.0,
        resolution: float = 2.0**-3,
        replace: bool = False,
    ) -> Pair:
        # A coarse grid, so that the exact sum over integers stays short.
        release = GramRelease(noise_multiplier, items, norm, resolution, replace)
        return gaussian_pair(name, release, a, b, share=share)

    half = math.sqrt(0.5)
    pairs = (
        pair("both items alike", [[half, half]], [[0, 0]], share=200),
        pair("one item", [[1, 0]], [[0, 0]]),
        pair("clipped", [[30, -40]], [[0, 0]]),
        pair(
            "clipped in integers", [[1, 1, 2]], [[0] * 3], items=3, norm=_JUST_BELOW, resolution=1
        ),
        pair("replaced", [[1, 0]], [[0, 1]], replace=True),
        pair("replaced, sign turned", [[half, half]], [[half, -half]], replace=True),
        pair("among others", [[0.5, 0.5, 0.5], [1, 0, 0]], [[0, 0, 0], [1, 0, 0]], items=3),
    )
    claim = ZCDPAccountant().add(GramRelease(noise_multiplier, 2).event)
    return Subject("gram", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA)


def sum_release(noise_multiplier: float = 1.0) -> Subject:
    """Inputs are (people, rows, width); who contributes nothing at all is not there."""

    def pair(
        name: str,
        a: list[Any],
        b: list[Any],
        share: int = 1_000,
        norm: float = 1.0,
        resolution: float = 2.0**-3,
    ) -> Pair:
        _, rows, width = np.array(a).shape
        release = SumRelease(noise_multiplier, rows, width, norm, resolution)
        return gaussian_pair(name, lambda table: release(_blocks(table)), a, b, share=share)

    someone, nobody = [[0.5], [-0.5]], [[0], [0]]
    pairs = (
        pair("one place", [[[1.0]]], [[[0]]], share=100, resolution=2.0**-6),
        pair("one place, coarse", [[[1.0]]], [[[0]]]),
        pair("several places", [[[0.5]] * 4], [[[0]] * 4]),
        pair("two wide", [[[0.5, -0.5], [0.5, 0.5]]], [[[0, 0], [0, 0]]]),
        pair("too long", [[[30], [0], [-40]]], [[[0], [0], [0]]]),
        pair("too long, two wide", [[[3, 4], [12, 0]]], [[[0, 0], [0, 0]]]),
        pair(
            "too long in integers", [[[1], [1], [2]]], [[[0]] * 3], norm=_JUST_BELOW, resolution=1
        ),
        pair("the middle one leaves", [someone] * 3, [someone, nobody, someone]),
    )
    claim = ZCDPAccountant().add(SumRelease(noise_multiplier, 1).event)
    return Subject("sums", "person", "comes or goes", claim.epsilon(DELTA), pairs, delta=DELTA)


def _blocks(table: NDArray[np.float64]) -> list[Contributions]:
    """One block for each person, with the places to which they add something."""
    found = []
    for person, entries in enumerate(table):
        places = np.flatnonzero(entries.any(axis=1))
        found.append(Contributions(np.full(len(places), person), places, entries[places]))
    return found
