"""Lists made on the device, and lists from releases: is a release worth sending, and for whom?

A device ranks with its owner's true stars and a public embedding of items, and sends nothing. The
embedding is fitted to the people outside the fold, who consented; it has no epsilon. A release is
worth sending only where its lists are better, and for the people for whom they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.designs.standard_scheme.experiment.setup import Floats, Ints
from tacit.evaluation import mean_interval

SIZES = (16, 32)
"""Numbers an item of the embeddings that are tried."""
POPULARITY = "popularity"
EVERYBODY = "all people"
Z_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""


def at_device_name(size: int) -> str:
    """Name of the list by an embedding with so many numbers an item, as rows have it."""
    return f"at-device-{size}"


@dataclass(frozen=True)
class DeviceListRow:
    """Quality of a list for which nothing is sent."""

    release: str
    """`at-device-16`, `at-device-32`, or `popularity`: the same list for everybody."""
    numbers: int
    """Public numbers an item."""
    shown: float
    """Share of the ratings that is sent: 0."""
    ndcg: float
    """NDCG of lists of 10, the mean over folds."""
    ndcg_low: float
    """Lower end of its 95 % interval over folds."""
    ndcg_high: float
    """Upper end."""
    recall_at_10: float
    """Share of the relevant items that is in the list."""


@dataclass(frozen=True)
class ListComparison:
    """Difference between two lists of the same people."""

    release: str
    """What is sent for the one list."""
    at_device: str
    """The other list, for which nothing is sent."""
    group: str
    """The people compared: everybody, those with few or many ratings, or an attribute's value."""
    people: int
    """Number of them with something to find."""
    difference: float
    """Mean over these people of the release's NDCG@10 less that of the other list."""
    low: float
    """Lower end of its 95 % interval over people."""
    high: float
    """Upper end."""

    @property
    def winner(self) -> str:
        """The better list: 'release', 'device', or 'neither' if the interval holds 0."""
        if self.low > 0:
            return "release"
        return "device" if self.high < 0 else "neither"


@dataclass
class FoldLists:
    """Lists of one fold's people."""

    labels: Ints
    """(people,) values of the attribute."""
    rated: Ints
    """(people,) ratings that lists were made from."""
    ndcg: dict[str, Floats] = field(default_factory=dict)
    """(people,) NDCG@10 by the name of a release or of a list made on the device; NaN for people
    with nothing to find."""
    recall: dict[str, float] = field(default_factory=dict)
    """Recall by the name of a list made on the device."""


def device_list_rows(folds: Sequence[FoldLists]) -> tuple[DeviceListRow, ...]:
    """Rows of all lists made on the device: means over folds, with intervals."""
    numbers = {POPULARITY: 0} | {at_device_name(size): size for size in SIZES}
    rows = []
    for name, size in numbers.items():
        ndcg = mean_interval([np.nanmean(fold.ndcg[name]) for fold in folds], bounds=(0.0, 1.0))
        recall = float(np.mean([fold.recall[name] for fold in folds]))
        rows.append(DeviceListRow(name, size, 0.0, ndcg.mean, ndcg.low, ndcg.high, recall))
    return tuple(rows)


def compare_lists(
    release: str, folds: Sequence[FoldLists], values: Sequence[str]
) -> tuple[ListComparison, ...]:
    """Compare a release with each list made on the device, for all people and for groups.

    Args:
        release: Its name in the folds' figures.
        folds: All of them.
        values: Names of the attribute's values.
    """
    labels = np.concatenate([fold.labels for fold in folds])
    rated = np.concatenate([fold.rated for fold in folds])
    of_release = np.concatenate([fold.ndcg[release] for fold in folds])
    found = []
    for name in map(at_device_name, SIZES):
        difference = of_release - np.concatenate([fold.ndcg[name] for fold in folds])
        judged = np.isfinite(difference)
        for group, inside in _group_people(labels, rated, values).items():
            chosen = difference[judged & inside]
            if len(chosen) < 2:
                continue
            middle = float(chosen.mean())
            half = Z_95 * float(chosen.std(ddof=1)) / np.sqrt(len(chosen))
            row = ListComparison(
                release, name, group, len(chosen), middle, middle - half, middle + half
            )
            found.append(row)
    return tuple(found)


def _group_people(labels: Ints, rated: Ints, values: Sequence[str]) -> Mapping[str, Floats]:
    """Name -> (people,) mask: everybody, the halves by number of ratings, each value."""
    middle = int(np.median(rated))
    groups = {
        EVERYBODY: np.ones(len(labels), dtype=bool),
        f"{middle} ratings or fewer": rated <= middle,
        f"over {middle} ratings": rated > middle,
    }
    for number, value in enumerate(values):
        groups[value] = labels == number
    return groups


def describe_comparison(rows: Sequence[ListComparison], at_device: str) -> str:
    """Say how a release's lists do beside a list made on the device, and for whom."""
    ours = [row for row in rows if row.at_device == at_device]
    everybody = next(row for row in ours if row.group == EVERYBODY)
    numbers = at_device.removeprefix("at-device-")
    verdicts = {
        "release": "beats it by",
        "device": "loses to it by",
        "neither": "differs from it by an amount that these people cannot tell from none:",
    }
    gained = [row.group for row in ours if row.winner == "release" and row.group != EVERYBODY]
    for_whom = f"It beats it for: {', '.join(gained)}." if gained else "It beats it for no group."
    if everybody.winner == "release":
        for_whom = f"Groups for whom it does: {', '.join(gained) or 'none by itself'}."
    away = everybody.difference
    shown = f"{away:+.3f}" if everybody.winner == "neither" else f"{abs(away):.3f}"
    return (
        f"List made on the device, {numbers} public numbers an item, nothing sent: the release "
        f"'{everybody.release}' {verdicts[everybody.winner]} {shown} NDCG@10 "
        f"[{everybody.low:+.3f}, {everybody.high:+.3f}], {everybody.people:,} people. {for_whom}"
    )
