"""Lists made on the device without sending anything, compared with lists from releases.

A device ranks by its owner's true stars and a public embedding of items, and sends nothing. The
embedding is fitted to the people outside the fold, who consented; it has no epsilon. Sending a
release is worth while only for people whose lists from releases are better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.designs.standard_scheme.experiment.setup import Floats, Ints
from tacit.evaluation import mean_interval

SIZES = (16, 32)
"""Dimensions of the measured embeddings: how many public numbers each item has."""
POPULARITY = "popularity"
"""Name of the list of popular items, which is the same for everybody."""
EVERYBODY = "all people"
"""Name of the group of all people."""
Z_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""


def at_device_name(size: int) -> str:
    """Name the list made with an embedding of this size, as in `DeviceListRow.release`."""
    return f"at-device-{size}"


@dataclass(frozen=True)
class DeviceListRow:
    """Quality of a list for which nothing is sent."""

    release: str
    """`at-device-16`, `at-device-32`, or `popularity`: the same list for everybody."""
    numbers: int
    """How many public numbers the list needs for each item; 0 for `popularity`."""
    shown: float
    """Share of the ratings that is sent: 0."""
    ndcg: float
    """NDCG of lists of 10, the mean over folds."""
    ndcg_low: float
    """Lower end of its 95 % interval over folds."""
    ndcg_high: float
    """Upper end."""
    recall_at_10: float
    """Share of a person's relevant items that are in the list; the mean over folds."""


@dataclass(frozen=True)
class ListComparison:
    """Difference between two lists of the same people."""

    release: str
    """Name of the release from which the first list is made."""
    at_device: str
    """Name of the second list, which is made on the device."""
    group: str
    """The people compared: everybody, people with few or many ratings, or with one value."""
    people: int
    """How many of them have a relevant item among the held-out ones."""
    difference: float
    """Mean over these people of the first list's NDCG@10 minus the second's."""
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
    """Quality of the lists of one fold's people."""

    labels: Ints
    """(people,) numbers of their attribute values."""
    rated: Ints
    """(people,) numbers of ratings from which lists were made."""
    ndcg: dict[str, Floats] = field(default_factory=dict)
    """(people,) NDCG@10 by the name of a release or of a list made on the device; NaN for people
    without a relevant held-out item."""
    recall: dict[str, float] = field(default_factory=dict)
    """Recall by the name of a list made on the device."""


def device_list_rows(folds: Sequence[FoldLists]) -> tuple[DeviceListRow, ...]:
    """Make the rows of all lists made on the device: means over folds, with intervals."""
    size_of = {POPULARITY: 0} | {at_device_name(size): size for size in SIZES}
    rows = []
    for name, size in size_of.items():
        ndcg = mean_interval([np.nanmean(fold.ndcg[name]) for fold in folds], bounds=(0.0, 1.0))
        recall = float(np.mean([fold.recall[name] for fold in folds]))
        rows.append(DeviceListRow(name, size, 0.0, ndcg.mean, ndcg.low, ndcg.high, recall))
    return tuple(rows)


def compare_lists(
    release: str, folds: Sequence[FoldLists], values: Sequence[str]
) -> tuple[ListComparison, ...]:
    """Compare a release with each list of an embedding, for all people and for groups.

    Args:
        release: Name of the release.
        folds: The lists of all folds.
        values: Names of the attribute's values.

    Returns:
        A row for each of these lists and each group with two or more people who have a relevant
        held-out item.
    """
    labels = np.concatenate([fold.labels for fold in folds])
    rated = np.concatenate([fold.rated for fold in folds])
    ndcg_of_release = np.concatenate([fold.ndcg[release] for fold in folds])
    rows = []
    for name in map(at_device_name, SIZES):
        ndcg_at_device = np.concatenate([fold.ndcg[name] for fold in folds])
        difference = ndcg_of_release - ndcg_at_device
        is_judged = np.isfinite(difference)
        for group, is_member in _group_people(labels, rated, values).items():
            differences = difference[is_judged & is_member]
            people = len(differences)
            if people < 2:
                continue
            mean = float(differences.mean())
            half_width = Z_95 * float(differences.std(ddof=1)) / np.sqrt(people)
            low = mean - half_width
            high = mean + half_width
            rows.append(ListComparison(release, name, group, people, mean, low, high))
    return tuple(rows)


def _group_people(labels: Ints, rated: Ints, values: Sequence[str]) -> Mapping[str, Floats]:
    """Group people: all; those up to and above the median number of ratings; and by value.

    Returns:
        (people,) mask by the name of the group.
    """
    median = int(np.median(rated))
    groups = {
        EVERYBODY: np.ones(len(labels), dtype=bool),
        f"{median} ratings or fewer": rated <= median,
        f"over {median} ratings": rated > median,
    }
    for number, value in enumerate(values):
        groups[value] = labels == number
    return groups


def describe_comparison(rows: Sequence[ListComparison], at_device: str) -> str:
    """Say whether a release's lists are better than a list made on the device, and for whom.

    Args:
        rows: Comparisons of the release with all lists made on the device.
        at_device: Name of the list to compare with.
    """
    rows_of_list = [row for row in rows if row.at_device == at_device]
    everybody = next(row for row in rows_of_list if row.group == EVERYBODY)
    numbers = at_device.removeprefix("at-device-")
    verdicts = {
        "release": "beats it by",
        "device": "loses to it by",
        "neither": "is not distinguished from it by these people; the difference is",
    }
    groups_with_gain = [
        row.group for row in rows_of_list if row.winner == "release" and row.group != EVERYBODY
    ]
    groups = ", ".join(groups_with_gain)
    if everybody.winner == "release":
        for_whom = f"Groups for which the release is better: {groups or 'none by itself'}."
    elif groups_with_gain:
        for_whom = f"Groups for which the release is better: {groups}."
    else:
        for_whom = "The release is better for no group."
    difference = everybody.difference
    is_clear = everybody.winner != "neither"
    shown = f"{abs(difference):.3f}" if is_clear else f"{difference:+.3f}"
    return (
        f"List made on the device, {numbers} public numbers an item, nothing sent: the release "
        f"'{everybody.release}' {verdicts[everybody.winner]} {shown} NDCG@10 "
        f"[{everybody.low:+.3f}, {everybody.high:+.3f}], {everybody.people:,} people. {for_whom}"
    )
