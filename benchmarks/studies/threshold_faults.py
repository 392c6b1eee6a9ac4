"""Faults that begin above a size drawn at random, and whether audits at real sizes catch them.

    python benchmarks/studies/threshold_faults.py [--faults 20] [--seed 7] [--json]

A fault is one step of a mechanism, a sampler, a kernel or a table, which is faulty where its size
n is above t: `if n > t`. Kind and t are drawn from the seed, t log-uniformly from a small size up
to the least real one. Each is audited as it stands in `tacit audit private` (whole fits of 2,000
people, one of them with 5,000 entries) or in the cases of `sizes` at real sizes: sums of 30,000
cells, Gram matrices of 400 items, 1,000 answers, arms or items, 5,000 bits. The same audits of the
code without a fault must raise no alarm. Exit code 1 if one is missed or raised.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import plant
from tacit.designs.private.audit.bench import LARGE_BUGS
from tacit.designs.standard_scheme.training import people as training
from tacit.designs.standard_scheme.training import tables
from tacit.mechanisms import samplers
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.audit.real_sizes import (
    ThresholdBug,
    keep_zeros_beyond,
    shrink_diagonal_beyond,
)

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support import sizes_mechanisms as mechanisms
from tests.support.sizes import (
    Case,
    Generator,
    Profile,
    examine,
    gaussian_sampler,
    laplace_sampler,
    whole,
)
from tests.support.sizes_artefacts import disclosure, gram, sums
from tests.support.sizes_faults import bare, unclipped

Steps = Mapping[Any, Mapping[str, Any]]
MakeSteps = Callable[[int], Steps]
"""From a threshold to the faulty steps, by class or module and name."""


def _at(case: Callable[..., float], name: str, least: int) -> Case:
    """The case at real sizes: `name` is drawn from `least` to a quarter more."""

    def drawn(generator: Generator) -> float:
        return case(generator, **{name: whole(generator, least, least + least // 4)})

    return drawn


REAL: Mapping[str, tuple[Profile, int]] = {
    profile.artefact: (profile, least)
    for profile, least in (
        (Profile("sums", _at(sums, "rows", 30_000), 12), 30_000),
        (Profile("gram", _at(gram, "items", 400), 40), 400),
        (Profile("disclosure", _at(disclosure, "items", 1_000), 12), 1_000),
        (Profile("laplace", _at(mechanisms.laplace, "count", 30_000), 20), 30_000),
        (Profile("gaussian", _at(mechanisms.gaussian, "count", 30_000), 20), 30_000),
        (Profile("answers", _at(mechanisms.answers, "categories", 1_000), 1), 1_000),
        (Profile("bits", _at(mechanisms.bits, "count", 5_000), 8), 5_000),
        (Profile("selection", _at(mechanisms.selection, "count", 1_000), 8), 1_000),
        (Profile("Laplace sampler", _at(laplace_sampler, "count", 30_000), 12), 30_000),
        (Profile("Gaussian sampler", _at(gaussian_sampler, "count", 30_000), 12), 30_000),
    )
}
"""A profile of each artefact at real sizes, and the least of them."""


@dataclass(frozen=True)
class Kind:
    """A fault that can be planted at any threshold."""

    name: str
    artefact: str
    steps: MakeSteps

    def draw_threshold(self, generator: Generator) -> int:
        """Draw a size that the real one is above, log-uniformly."""
        return whole(generator, 16, REAL[self.artefact][1] - 1)

    def is_caught(self, threshold: int, seed: int) -> bool:
        """Whether the audit at real sizes finds a loss above the claim, not an exception."""
        with plant(self.steps(threshold)):
            found = examine(REAL[self.artefact][0], seed=seed)
        return found.violation and not found.failed


_clip_block, _clip_rows, _symmetric = (
    SumRelease.clip_block,
    GramRelease.clip_rows,
    GramRelease._add_symmetric_noise,
)
_laplace, _gaussian, _kary, _bits = (
    LaplaceRelease.__call__,
    GaussianRelease.__call__,
    KaryResponse.__call__,
    BitRelease.__call__,
)
_rate = Selection.rate.fget  # type: ignore[attr-defined]
_limit = tables.limit_contributions  # type: ignore[attr-defined]
_cells = training.discrete_laplace  # type: ignore[attr-defined]
_draw_laplace, _draw_gaussian = samplers.discrete_laplace, samplers.discrete_gaussian


def unclipped_block(t: int) -> Steps:
    def faulty(release: SumRelease, block: Any) -> NDArray[np.int64]:
        is_large = len(block.values) > t
        return unclipped(release, block) if is_large else _clip_block(release, block)

    return {SumRelease: {"clip_block": faulty}}


def unclipped_rows(t: int) -> Steps:
    def faulty(release: GramRelease, people: Any) -> NDArray[np.int64]:
        is_large = people.shape[1] > t
        return bare(release, people) if is_large else _clip_rows(release, people)

    return {GramRelease: {"clip_rows": faulty}}


def empty_pairs(t: int) -> Steps:
    def faulty(release: GramRelease, given: Any) -> NDArray[np.float64]:
        noisy = _symmetric(release, given)
        return np.where(given == 0, 0.0, noisy) if release.items > t else noisy

    return {GramRelease: {"_add_symmetric_noise": faulty}}


def exact_zeros(owner: type, shipped: Callable[..., Any], t: int) -> Steps:
    def faulty(release: Any, values: Any) -> Any:
        noisy = shipped(release, values)
        return np.where(np.asarray(values) == 0, 0.0, noisy) if np.size(values) > t else noisy

    return {owner: {"__call__": faulty}}


def few_lies(t: int) -> Steps:
    def faulty(release: KaryResponse, values: Any, source: Any) -> NDArray[np.int64]:
        answered = _kary(release, values, source)
        is_lie = answered != np.asarray(values)
        return np.where(is_lie & (release.categories > t), answered % 16, answered)

    return {KaryResponse: {"__call__": faulty}}


def words_again(t: int) -> Steps:
    def faulty(release: BitRelease, bits: Any, source: Any) -> NDArray[np.bool_]:
        answered, true = _bits(release, bits, source), np.asarray(bits).astype(bool)
        flipped = answered ^ true
        if flipped.size > t:
            flipped = np.resize(flipped[:16], true.shape)
        return np.asarray(flipped ^ true)

    return {BitRelease: {"__call__": faulty}}


def twice_the_rate(t: int) -> Steps:
    def faulty(choice: Selection) -> Fraction:
        rate: Fraction = _rate(choice)
        return rate * (2 if choice.candidates > t else 1)

    return {Selection: {"rate": property(faulty)}}


def twice_the_contributions(t: int) -> Steps:
    def faulty(levels: Any, most: int, source: Any) -> Any:
        return _limit(levels, 2 * most if levels.shape[1] > t else most, source)

    return {tables: {"limit_contributions": faulty}}


def exact_cells(t: int) -> Steps:
    def faulty(values: Any, scale: float) -> NDArray[np.int64]:
        drawn = samplers.discrete_laplace(values, scale)
        return np.where(np.asarray(values) == 0, 0, drawn) if np.size(values) > t else drawn

    return {training: {"discrete_laplace": faulty}}


def first_bare(name: str, shipped: Callable[..., Any], t: int) -> Steps:
    def faulty(values: Any, scale: float) -> NDArray[np.int64]:
        drawn = shipped(values, scale)
        if drawn.size > t:
            drawn.flat[t] = np.asarray(values).flat[t]
        return np.asarray(drawn)

    return {samplers: {name: faulty}}


KINDS: tuple[Kind | ThresholdBug, ...] = (
    Kind("a person's entries not clipped", "sums", unclipped_block),
    Kind(
        "empty cells of a sum without noise",
        "sums",
        lambda t: {SumRelease: {"add_noise": keep_zeros_beyond(t)}},
    ),
    Kind("rows of a Gram matrix not clipped", "gram", unclipped_rows),
    Kind("pairs never rated together without noise", "gram", empty_pairs),
    Kind(
        "a Gram matrix with the smaller noise on its diagonal",
        "gram",
        lambda t: {GramRelease: {"_add_symmetric_noise": shrink_diagonal_beyond(t)}},
    ),
    Kind("twice the contributions", "disclosure", twice_the_contributions),
    Kind("empty cells of a disclosure without noise", "disclosure", exact_cells),
    Kind("zeros without noise", "laplace", partial(exact_zeros, LaplaceRelease, _laplace)),
    Kind("zeros without noise", "gaussian", partial(exact_zeros, GaussianRelease, _gaussian)),
    Kind("lies among the first answers", "answers", few_lies),
    Kind("words used again", "bits", words_again),
    Kind("twice the rate", "selection", twice_the_rate),
    Kind(
        "one number without noise",
        "Laplace sampler",
        partial(first_bare, "discrete_laplace", _draw_laplace),
    ),
    Kind(
        "one number without noise",
        "Gaussian sampler",
        partial(first_bare, "discrete_gaussian", _draw_gaussian),
    ),
    *LARGE_BUGS,
)
"""Every fault that the tool draws from; the last ones are those of whole private fits."""


@dataclass(frozen=True)
class DrawnFault:
    """A fault, the size above which it begins, and the seed of the audit that has to find it."""

    kind: Kind | ThresholdBug
    threshold: int
    audit_seed: int

    def is_caught(self) -> bool:
        """Plant it, and audit."""
        return self.kind.is_caught(self.threshold, self.audit_seed)

    def describe(self) -> dict[str, Any]:
        """JSON values, without a verdict."""
        artefact = self.kind.artefact if isinstance(self.kind, Kind) else "private fit"
        return {"fault": self.kind.name, "in": artefact, "threshold": self.threshold}


def draw_faults(count: int, seed: int) -> list[DrawnFault]:
    """Draw so many faults; every kind comes once before one comes again."""
    generator = np.random.default_rng(seed)
    order: list[int] = []
    while len(order) < count:
        order += generator.permutation(len(KINDS)).tolist()
    drawn = []
    for place in order[:count]:
        kind, audit_seed = KINDS[place], int(generator.integers(1 << 31))
        drawn.append(DrawnFault(kind, kind.draw_threshold(generator), audit_seed))
    return drawn


def find_alarms(seed: int) -> list[str]:
    """The artefacts whose audit at real sizes calls the code without a fault broken."""
    return [name for name, (profile, _) in REAL.items() if examine(profile, seed=seed).violation]


def main() -> None:
    """Print the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        fault.describe() | {"caught": fault.is_caught()}
        for fault in draw_faults(given.faults, given.seed)
    ]
    alarms = find_alarms(given.seed)
    caught = sum(row["caught"] for row in rows)
    if given.json:
        print(json.dumps({"rows": rows, "caught": caught, "of": len(rows), "alarms": alarms}))
    else:
        for row in rows:
            verdict = "caught" if row["caught"] else "MISSED"
            print(f"{row['in']}, {row['fault']}, above {row['threshold']:,}: {verdict}")
        print(f"{caught} of {len(rows)} caught; alarms without a fault: {len(alarms)}")
    sys.exit(caught < len(rows) or bool(alarms))


if __name__ == "__main__":
    main()
