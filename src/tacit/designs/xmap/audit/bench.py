"""X-Map on the audit's bench: what the paper claims, and what this library claims.

Source   the published claims and why they fail: the variant's card. Draws of whole fits are
         enumerated with the weights that the running code draws with, and sampled with them. The
         release of the sound variant is that of the design `private`, which has a bench of its own;
         here it is fitted by XMap, and replayed with and without one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit.auditing import exact_losses
from tacit.auditing.claims import AuditedClaim, AuditPlan, Check, PairResult
from tacit.auditing.empirical import audit as compare
from tacit.auditing.empirical import best_known_event
from tacit.auditing.output_distributions import (
    Execution,
    encode_outcomes,
    execute,
    executions,
    sample_executions,
)
from tacit.auditing.sampler_spy import SamplerCall, intercept_samplers
from tacit.data.ratings import Ratings
from tacit.designs.xmap import model
from tacit.designs.xmap.audit import tables
from tacit.designs.xmap.audit.tables import SOURCE, TARGET, Tables, only_link, turned_tables
from tacit.designs.xmap.audit.tables import strong_among_mild as strong
from tacit.designs.xmap.catalogue import Catalogue, keep_domains
from tacit.designs.xmap.files import write_published
from tacit.designs.xmap.model import XMap
from tacit.designs.xmap.published_variant import PublishedModel
from tacit.designs.xmap.settings import Pnsa, Settings
from tacit.mechanisms import samplers
from tacit.profile_sums.audit import planted_bugs, worlds
from tacit.profile_sums.audit.planted_bugs import PlantedBug
from tacit.profile_sums.audit.worlds import DELTA, EPSILON, audit_line
from tacit.randomness import secure

Floats = NDArray[np.float64]
Released = Mapping[str, NDArray[Any]]
"""The arrays of a model file."""

PRIME = 0.8
"""epsilon' of the lines about neighbours: the paper's for the item-based recommender."""
REPLACEMENT = 1.0
"""epsilon of the lines about images."""
_DRAWS_IMAGES = ("tacit.mechanisms.selection", "tacit.designs.xmap.generator")
_WHOLE_FITS = 500  # one fit for so many samples that are asked for


def fit_published(settings: Mapping[str, Any], table: Ratings) -> Released:
    """Fit the published variant, and return the arrays of its file."""
    fitted = XMap(source=SOURCE, target=TARGET, variant="published", **settings).fit(table)
    assert isinstance(fitted.published_, PublishedModel)
    return write_published(fitted.published_)


class Noise(NamedTuple):
    """Noise of one similarity."""

    centre: float
    """The similarity without noise."""
    step: float
    """What 1 in the noise adds."""
    asked: float
    """Scale that the sampler is called with."""


@dataclass(frozen=True)
class Drawer:
    """Draws of a fit: images, or the neighbours of one film."""

    settings: Mapping[str, Any]
    """Parameters of XMap."""
    row: int | None = None
    """Row of the film; None for images."""

    def every_execution(self, table: Ratings) -> list[Execution[Hashable]]:
        """Enumerate the executions of a fit, each with what it drew."""
        program = partial(fit_published, self.settings, table)
        return [
            Execution(each.draws, self._read_drawn(each.result))
            for each in executions(program, self._is_enumerated)
        ]

    def noise(self, table: Ratings, given: int) -> Noise:
        """Read the noise of the similarity of the film and its neighbour `given`."""
        drawn = (it for it in self.every_execution(table) if it.result == (given,))
        indices = next(drawn).indices
        program = partial(fit_published, self.settings, table)
        similarities = []
        for noise in (0, 1):
            with intercept_samplers(partial(_answer_with_noise, noise)) as calls:
                execution = execute(program, indices, self._is_enumerated)
            similarities.append(float(execution.result["0.similarities"][self.row, 0]))
        without_noise, with_noise = similarities
        return Noise(without_noise, with_noise - without_noise, calls[0].scale)

    def _is_enumerated(self, module: str, row: int) -> bool:
        """Say whether a draw is looked at: by the module that makes it, and by its row."""
        draws_images = module in _DRAWS_IMAGES
        if self.row is None:
            return draws_images
        return not draws_images and row == self.row

    def _read_drawn(self, released: Released) -> Hashable:
        shown = released["0.images"] if self.row is None else released["0.neighbours"][self.row]
        return tuple(shown.tolist())


def _answer_with_noise(noise: int, call: SamplerCall) -> NDArray[np.int64]:
    """Answer a sampler's call by a noise that is fixed."""
    return call.values + noise


def _chances_of_results(side: Sequence[Execution[Hashable]]) -> dict[Hashable, Fraction]:
    """Look up the chance of each result of one table's executions."""
    return {execution.result: execution.chance for execution in side}


def _sample_codes(
    side: Sequence[Execution[Hashable]], code: Mapping[Hashable, int], count: int
) -> NDArray[np.int64]:
    """Sample one table's executions, and return the (count,) codes of their results."""
    codes = np.array([code[execution.result] for execution in side], dtype=np.int64)
    return codes[sample_executions(side, count, secure())]


def choice_check(name: str, drawer: Drawer, pair: Tables) -> Check:
    """Make a check that compares two tables' draws, by exact chances and by samples.

    Noise is left aside.
    """

    def check(samples: int, alpha: float) -> PairResult:
        sides = [drawer.every_execution(table) for table in pair]
        p, q = map(_chances_of_results, sides)
        code = {result: number for number, result in enumerate(dict.fromkeys([*p, *q]))}
        sample_first, sample_second = (partial(_sample_codes, side, code) for side in sides)
        known = best_known_event(
            (encode_outcomes(p, code), encode_outcomes(q, code)), samples, alpha
        )
        sampled = compare(
            sample_first, sample_second, samples=samples, alpha=alpha, known_event=known
        )
        ideal = known.ideal if known else 0.0
        exact = exact_losses.exact_loss(p, q)
        return PairResult(name, exact, None, sampled.lower_bound, ideal, samples)

    return check


def number_of_film(pair: Tables, film: str) -> int:
    """Number of a film among the films."""
    domains = pair[0].item_metadata["domain"]
    return int((domains == TARGET)[: pair[0].item_ids.tolist().index(film)].sum())


_SINGLE = {"significance": 0, "k": 1}
_IMAGES = Drawer(_SINGLE | {"epsilon": REPLACEMENT, "epsilon_prime": math.inf})


def _neighbours_of_i(pair: Tables, k: int = 1, pnsa: Pnsa = "positive") -> Drawer:
    settings = _SINGLE | {"k": k, "epsilon": math.inf, "epsilon_prime": PRIME, "pnsa": pnsa}
    return Drawer(settings, number_of_film(pair, "i"))


def one_image() -> AuditedClaim:
    """Theorem 1: a replacement costs epsilon."""
    checks = (
        choice_check("candidates that do not change", _IMAGES, turned_tables(1, 4)),
        choice_check("the person is the book's only link", _IMAGES, only_link()),
    )
    return AuditedClaim("prs-published", REPLACEMENT, checks, published=True)


def all_images() -> AuditedClaim:
    """Theorem 1, read as a claim about AlterEgos: one person moves every image."""
    checks = (choice_check("three books, four films", _IMAGES, turned_tables(3, 4)),)
    return AuditedClaim("alterego-published", REPLACEMENT, checks, published=True)


def published_selection() -> AuditedClaim:
    """PNSA: drawing neighbours costs epsilon' / 2.

    Among all items, as printed, and among the positively similar ones alone. As printed and with
    60 people, chances fall below what the sampler can draw, so the larger groups are audited in
    the restricted reading.
    """

    def check(people: int, k: int, pnsa: Pnsa) -> Check:
        pair = strong(people)
        name = f"5-5-1-1 among {people} and {people}, k = {k}, PNSA {pnsa}"
        return choice_check(name, _neighbours_of_i(pair, k, pnsa), pair)

    checks = (
        check(10, 1, "printed"),
        check(10, 1, "positive"),
        check(60, 1, "positive"),
        check(60, 2, "positive"),
    )
    return AuditedClaim("pnsa-published", PRIME / 2, checks, published=True)


def published_noise() -> AuditedClaim:
    """Claim PNCF's epsilon' / 2 for noise on the similarities of neighbours.

    Laplace noise of two scales has no epsilon at all.
    """
    pair = strong(10)
    claim = PRIME / 2
    drawer = _neighbours_of_i(pair)
    given = number_of_film(pair, "one")
    noises = [drawer.noise(table, given) for table in pair]
    scales = [noise.step * noise.asked for noise in noises]
    name = f"5-5-1-1 among 10 and 10; scales {scales[0]:.3g} and {scales[1]:.3g}"
    exact = math.inf
    if math.isclose(*scales):
        exact = abs(noises[0].centre - noises[1].centre) / scales[0]

    def ratios(noise: Noise, count: int) -> Floats:
        """Log likelihood ratios, as an auditor computes them who knows both tables."""
        drawn = samplers.discrete_laplace(np.zeros(count, dtype=np.int64), noise.asked)
        releases = noise.centre + drawn * noise.step
        first, second = (
            stats.laplace.logpdf(releases, each.centre, scale)
            for each, scale in zip(noises, scales, strict=True)
        )
        return np.asarray(first - second, dtype=np.float64)

    def check(samples: int, alpha: float) -> PairResult:
        first, second = (partial(ratios, noise) for noise in noises)
        estimate = compare(first, second, samples=samples // 10, alpha=alpha)
        return PairResult(name, exact, None, estimate.lower_bound, 0.0, samples // 10)

    return AuditedClaim("pncf-published", claim, (check,), published=True)


def published_fit() -> AuditedClaim:
    """Claim epsilon + epsilon' for the shipped recommender, fitted many times on both tables.

    The exact loss is infinite if the mean of an item differs, for means have no noise.
    """
    pair = strong(60)
    epsilon = 0.3
    settings = {"k": 1, "epsilon": epsilon, "epsilon_prime": PRIME, "pnsa": "positive"}
    i = number_of_film(pair, "i")
    one = number_of_film(pair, "one")

    def sample_choices(table: Ratings, count: int) -> NDArray[Any]:
        fits = (fit_published(settings, table) for _ in range(count))
        return np.array([float(made["0.neighbours"][i, 0] == one) for made in fits])

    def check(samples: int, alpha: float) -> PairResult:
        count = max(samples // _WHOLE_FITS, 4)
        first, second = (partial(sample_choices, table) for table in pair)
        estimate = compare(first, second, samples=count, alpha=alpha)
        means = [fit_published(settings, table)["item_means"] for table in pair]
        loss = 0.0 if np.array_equal(means[0], means[1]) else math.inf
        name = "5-5-1-1 among 60 and 60, k = 1: i's neighbour in the model"
        return PairResult(name, loss, None, estimate.lower_bound, 0.0, count)

    return AuditedClaim("x-map-published", epsilon + PRIME, (check,), published=True)


def fit(table: Ratings, epsilon: float = EPSILON) -> dict[str, NDArray[Any]]:
    """The shipped recommender with stars; all that it released."""
    made = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA, stars=True)
    lists = made.fit(table).sound_
    assert lists is not None
    return worlds.released_numbers(lists)


@dataclass(frozen=True)
class SoundWorld(worlds.World):
    """A world of the design `private`, fitted by XMap: the planted bugs of `private` fit it."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit XMap, and return the released numbers."""
        return fit(table)


WORLD = SoundWorld("auto", True, stars=True)


def sums() -> AuditedClaim:
    """Claim the sound variant's epsilon, for the sums of `private` as XMap fits them."""
    return replace(audit_line(WORLD), mechanism="x-map-sound")


def rated_items_alone(ratings: Ratings, settings: Settings) -> tuple[Any, Catalogue]:
    """Leave items out of the public catalogue that nobody rated: a planted bug."""
    rated = np.bincount(ratings.items, minlength=ratings.n_items) > 0
    domains = ratings.item_metadata[settings.domain].copy()
    domains[~rated] = None
    metadata = {**ratings.item_metadata, settings.domain: domains}
    return keep_domains(replace(ratings, item_metadata=metadata), settings)


BUGS = (
    PlantedBug(
        "items that nobody rated left out",
        {model: {"keep_domains": rated_items_alone}},
        "likes two rare items",
        WORLD,
    ),
    PlantedBug("the gate by true counts", planted_bugs.GATE_BY_TRUE_COUNTS, world=WORLD),
    PlantedBug(
        "each sum with the noise of the whole budget", planted_bugs.SHARES_FORGOTTEN, world=WORLD
    ),
)
"""Each fails on the shipped fit with one step replaced; it is compared with the shipped fit."""

PUBLISHED = (one_image, all_images, published_selection, published_noise, published_fit)
BENCH: tuple[Callable[[], AuditedClaim], ...] = (*PUBLISHED, sums)


def audit() -> AuditPlan:
    """Plan the audit of both variants."""
    return AuditPlan(
        {"": BENCH},
        BUGS,
        studies=(tables.STUDY,),
        conclusion="The paper's claims are refuted. No violation of the library's was found, and "
        "that is no proof.",
        next_step="tacit guarantee xmap --epsilon 1  reads what each variant promises.",
    )
