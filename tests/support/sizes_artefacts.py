"""The profiles, one for every released artefact, and cases of what is released about tables.

Sums, Gram matrices, disclosures and whole fits; cases of single mechanisms are the library's.

Every table holds items that nobody rated, that one person rated and that two did. The person who
comes or goes rates one item, a few, or all of them, with the most extreme stars, also items that
nobody else rated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.auditing.gaussian import epsilon_of_mu
from tacit.designs.standard_scheme.training.people import ConsentingPeople
from tacit.designs.standard_scheme.training.tables import estimate_privately
from tacit.designs.xmap.audit.bench import fit
from tacit.designs.xmap.audit.tables import SOURCE, TARGET, Stars, ratings
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease
from tacit.profile_sums.audit.worlds import DELTA, answer_sampler
from tests.support import sizes_mechanisms as mechanisms
from tests.support.sizes import (
    Generator,
    Profile,
    far,
    gaussian_sampler,
    laplace_sampler,
    number,
    replayed,
    whole,
)

_RARE = 3
"""Items with 0, 1 and 2 raters."""


def rated(
    generator: Generator, people: int, items: int, *, alone: bool = False
) -> NDArray[np.bool_]:
    """(people + 1, items) who rated what. The first items have 0, 1 and 2 raters before the last
    person comes, who rates one item, a few or all; alone: all, where others rate hardly any."""
    share = 0.1 if alone else generator.choice([1.0, 0.3, 0.1])
    popular = generator.uniform(0.05, 0.9, items) * share
    found = np.asarray(generator.random((people + 1, items)) < popular)
    found[:-1, : min(_RARE, items)] = False
    for place in range(1, min(_RARE, items)):
        found[generator.choice(people, min(place, people), replace=False), place] = True
    own = "all" if alone else generator.choice(["one", "few", "all"])
    found[-1] = True
    if own != "all":
        kept = 1 if own == "one" else whole(generator, 1, items)
        found[-1, generator.choice(items, items - kept, replace=False)] = False
    return found


def sums(generator: Generator, *, rows: int | None = None) -> float:
    """A person's entries, of any size, beside those of others. rows: of the table."""
    people, width = whole(generator, 1, 60 if rows is None else 4), whole(generator, 1, 4)
    if rows is None:
        rows = whole(generator, 1, 120)
    norm = number(generator, 0.1, 20.0)
    release = SumRelease(
        number(generator, 0.3, 30.0), rows, width, norm, 2.0 ** math.floor(math.log2(norm) - 9)
    )
    there = rated(generator, people, rows)
    values = generator.normal(size=(*there.shape, width)) * norm / math.sqrt(rows)
    values[-1] *= number(generator, 1e-2, 1e6)

    def released(count: int) -> Mapping[str, NDArray[Any]]:
        who, where = np.nonzero(there[:count])
        return {"sums": release([Contributions(who, where, values[who, where])])}

    _, mu = replayed(released, people + 1, people, far(generator))
    return mu * release.noise_multiplier


def gram(generator: Generator, *, items: int | None = None) -> float:
    """Products of a person's entries, of any size. items: rows of the matrix."""
    people = whole(generator, 1, 60)
    if items is None:
        items = whole(generator, 1, 60)
    norm = number(generator, 0.1, 20.0)
    release = GramRelease(
        number(generator, 0.3, 30.0), items, norm, 2.0 ** math.floor(math.log2(norm) - 9)
    )
    rows = generator.normal(size=(people + 1, items)) * rated(generator, people, items)
    rows *= norm / math.sqrt(items)
    rows[-1] *= number(generator, 1e-2, 1e6)
    _, mu = replayed(
        lambda count: {"gram": release(rows[:count])}, people + 1, people, far(generator)
    )
    return mu * release.noise_multiplier


class _Prefix:
    """Words of which the first n are the same however many are asked for in one call."""

    is_private = False

    def __init__(self, seed: int) -> None:
        self._seed, self._calls = seed, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self._calls += 1
        drawn = np.random.default_rng([self._seed, self._calls])
        return drawn.integers(0, 1 << 62, count, dtype=np.uint64)


def disclosure(generator: Generator, *, items: int | None = None) -> float:
    """The standard scheme's private disclosure, from people's stars to the tables sent.

    items: of the catalogue, of which the last person then rates all, and up to half count.
    """
    is_large = items is not None
    if items is None:
        items = whole(generator, 1, 80)
    people, values = whole(generator, 8, 40 if is_large else 150), whole(generator, 2, 4)
    contributions = whole(generator, 1, items // 2 if is_large else 60)
    levels = int(generator.integers(2, 11))
    there = rated(generator, people, items, alone=is_large)
    stars = generator.integers(0, levels, there.shape)
    labels = generator.integers(0, values, (people + 1, 1))
    labels[:values, 0] = np.arange(values)
    epsilon, seed = number(generator, 0.2, 8.0), int(generator.integers(1 << 30))
    coupling = bool(generator.random() < 0.3)

    def released(count: int) -> Mapping[str, NDArray[Any]]:
        who, where = np.nonzero(there[:count])
        table = sparse.csr_array(
            (stars[who, where].astype(float), (who, where)), shape=(count, items)
        )
        names = tuple(str(value) for value in range(values))
        given = ConsentingPeople(table, labels[:count], ("attribute",), (names,), levels)
        found = estimate_privately(
            given,
            _Prefix(seed),
            epsilon=epsilon,
            contributions=contributions,
            coupling=coupling,
        )["attribute"]
        arrays = {
            "offsets": found.offsets,
            "keep": found.keep,
            "means": found.means,
            "item means": found.item_means,
        }
        return arrays if found.coupling is None else {**arrays, "coupling": found.coupling}

    loss, _ = replayed(released, people + 1, people, far(generator))
    return loss / epsilon


def xmap(generator: Generator) -> float:
    """A whole fit of the sound X-Map, as of 400 people; the arrays of its model file."""
    people, epsilon = whole(generator, 4, 80), number(generator, 0.3, 20.0)
    names = [f"film {n}" for n in range(whole(generator, 4, 24))]
    books = [f"book {n}" for n in range(whole(generator, 2, 16))]
    generator.shuffle(every := names + books)
    alone = bool(generator.random() < 0.4)
    there = rated(generator, people, len(every), alone=alone)
    stars = generator.integers(1, 6, there.shape)
    high = generator.choice([0, 1] if alone else [0, 0.5, 1])
    stars[-1] = np.where(generator.random(len(every)) < high, 5, 1)
    rows: list[Stars] = [
        {every[place]: float(row[place]) for place in np.flatnonzero(mask)}
        for mask, row in zip(there, stars, strict=True)
    ]
    domains = dict.fromkeys(names, TARGET) | dict.fromkeys(books, SOURCE)
    tables = ratings(rows, domains), ratings(rows[:-1], domains)
    first, other = tables if generator.random() < 0.5 else tables[::-1]
    answer = answer_sampler(whole(generator, 1, 1 << 30), items=len(every))
    _, mu = replayed(partial(fit, epsilon=epsilon), first, other, answer)
    return epsilon_of_mu(mu, DELTA) / epsilon if mu < math.inf else math.inf


BENCH: tuple[Profile, ...] = (
    Profile("Laplace sampler", laplace_sampler, 60),
    Profile("Gaussian sampler", gaussian_sampler, 60),
    Profile("bit-release", mechanisms.bits, 60),
    Profile("kary-response", mechanisms.answers, 60),
    Profile("laplace", mechanisms.laplace, 200),
    Profile("gaussian", mechanisms.gaussian, 200),
    Profile("selection", mechanisms.selection, 40),
    Profile("top-selection", mechanisms.top_selection, 25),
    Profile("tree-counter", mechanisms.tree, 80),
    Profile("threshold-gate", mechanisms.gate, 80),
    Profile("gram", gram, 150),
    Profile("sums", sums, 150),
    Profile("standard scheme, private disclosure", disclosure, 40),
    Profile("x-map, sound fit", xmap, 40),
)
BY_NAME = {profile.artefact: profile for profile in BENCH}
