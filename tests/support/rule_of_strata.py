"""The public tables and the rule of version 1, for many people at once, as they were.

Chances to be shown depend on a person's stratum of activity among people of their own value, go up
to 1, and are applied at every letter anew. Kept to show that the panel and the attackers with other
knowledge find what was wrong with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from tacit.designs.standard_scheme.experiment.setup import read_entries
from tacit.designs.standard_scheme.training import estimates
from tacit.designs.standard_scheme.training.people import sum_statistics

PEOPLE_PER_STRATUM, MOST_STRATA, PARTS = 50, 8, 8
ITEMS_PER_PRIOR = 400


@dataclass(frozen=True)
class Tables:
    """offsets (values, items) levels; bounds (values, strata - 1); keep (values, strata, items)."""

    offsets: np.ndarray
    bounds: np.ndarray
    keep: np.ndarray


def estimated(levels, labels, strata=None):
    """Tables of two values from these people; strata: as many as the rarest value allowed."""
    rarest = int(np.bincount(labels).min())
    strata = strata or int(np.clip(rarest // PEOPLE_PER_STRATUM, 1, MOST_STRATA))
    activity = np.diff(levels.indptr)
    inner = np.arange(1, strata) / strata
    bounds = np.stack(
        [np.quantile(activity[labels == v], inner, method="higher") for v in (0, 1)]
    ).astype(np.int64)
    own = (activity[:, None] >= bounds[labels]).sum(axis=1)
    rows = np.repeat(np.arange(len(labels)), activity)
    cell = (own[rows] * 2 + labels[rows]) * levels.shape[1] + levels.indices
    counts = np.bincount(cell, minlength=strata * 2 * levels.shape[1]).astype(float)
    counts = counts.reshape(strata, 2, levels.shape[1])
    people = np.bincount(own * 2 + labels, minlength=strata * 2).reshape(strata, 2).astype(float)
    shown = np.stack(_posterior_shares(counts, people), axis=1)
    keep = np.minimum(1.0, shown.min(axis=1, keepdims=True) / shown)
    return Tables(_offsets(levels, labels), bounds, keep.transpose(1, 0, 2))


def _posterior_shares(counts, people):
    """Posterior mean shares of both values; one log odds ratio per item over all strata."""
    profiles = [
        estimates.profile_likelihood(count[0], each[0], count[1], each[1])
        for count, each in zip(counts, people, strict=True)
    ]
    log_likelihood = np.sum([fit for fit, _, _ in profiles], axis=0)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    posterior = np.empty_like(likelihood)
    by_popularity = np.argsort(counts.sum(axis=(0, 1)), kind="stable")
    groups = max(1, len(by_popularity) // ITEMS_PER_PRIOR)
    for group in np.array_split(by_popularity, groups):
        posterior[group] = estimates.posterior_of(likelihood[group])
    return (
        np.stack([(posterior * share).sum(axis=1) for _, share, _ in profiles]),
        np.stack([(posterior * share).sum(axis=1) for _, _, share in profiles]),
    )


def _offsets(levels, labels):
    parts = np.random.default_rng(0).integers(0, PARTS, len(labels))
    statistics = sum_statistics(levels, labels, parts, n_values=2, n_levels=5, n_parts=PARTS)
    return estimates.estimate_offsets(statistics)


def strata_of(counts, bounds):
    """(people,) stratum under the bounds of one value."""
    return (counts[:, None] >= bounds).sum(axis=1)


def letters(levels, labels, order, tables, generator):
    """Letters (people, items) as strata are passed, the last one last; dice and stars are kept.

    order: CSR like the levels, 1 for a person's first rating.
    """
    rows = np.repeat(np.arange(len(labels)), np.diff(levels.indptr))
    own, items = labels[rows], levels.indices
    dice = generator.random(len(rows))
    level = levels.data - tables.offsets[own, items]
    whole = np.floor(level)
    released = np.clip(whole + (generator.random(len(rows)) < level - whole), 0, 4)
    last = (np.diff(levels.indptr)[:, None] >= tables.bounds[labels]).sum(axis=1)
    made = []
    for stratum in range(tables.keep.shape[1]):
        # The last moment in this stratum; people who never leave an earlier one stay there.
        now = np.minimum(stratum, last)
        ends = np.hstack([tables.bounds[labels], np.full((len(labels), 1), 1 << 40)])
        until = np.where(now == last, 1 << 40, ends[np.arange(len(labels)), now] - 1)
        there = order.data <= until[rows]
        there &= dice < tables.keep[own, now[rows], items]
        counts = np.bincount(rows[there], minlength=len(labels))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        made.append(sparse.csr_array((released[there], items[there], indptr), levels.shape))
    return made


def log_keep(tables):
    """(items,) log of the chance under value 1 over that under value 0, over all strata."""
    return np.log(tables.keep[1].mean(axis=0) / tables.keep[0].mean(axis=0))


def drops(tables):
    """(items,) by how much the chance can fall between strata, under value 0 less under value 1.

    An item vanishes under the value whose chance falls.
    """
    highest = np.maximum.accumulate(tables.keep, axis=1)
    fall = (highest - tables.keep).max(axis=1)
    return fall[0] - fall[1]


def vanished(letters, log_keep):
    """(people,) how many items of a letter are missing from a later one, or have another star
    there; and scores from that, higher = more likely value 1.

    letters: in order of time. log_keep: (items,) log of the chance to be shown under value 1 over
    that under value 0: an item vanishes where its chance is low.
    """
    people = letters[0].shape[0]
    events, scores = np.zeros(people, dtype=np.int64), np.zeros(people)
    for before, after in pairwise(letters):
        rows = np.repeat(np.arange(people), np.diff(before.indptr))
        gone = read_entries(after, rows, before.indices) != before.data
        events += np.bincount(rows[gone], minlength=people)
        signs = np.sign(log_keep[before.indices[gone]])
        scores -= np.bincount(rows[gone], signs, minlength=people)
    return events, scores
