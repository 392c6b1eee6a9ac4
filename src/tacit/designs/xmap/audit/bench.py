"""Audited claims of X-Map: the paper's, which are refuted, and those of the sound variant.

The card of the published variant says what the paper claims and why it fails. Here whole fits are
executed in every possible way, with the weights by which the running code draws; chances of results
are summed exactly, and results are sampled with these chances.

The sound variant releases the sums of the design `private`, which has its own audits. Here the same
sums are audited as `XMap` fits them, with and without one person.
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
from tacit.designs.xmap.audit.tables import (
    SOURCE,
    TARGET,
    Tables,
    only_link,
    strong_among_mild,
    turned_tables,
)
from tacit.designs.xmap.catalogue import Catalogue, keep_domains
from tacit.designs.xmap.files import collect_published_arrays
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
"""epsilon' of the audits of neighbours: that of the paper's item-based recommender."""
REPLACEMENT = 1.0
"""epsilon of the audits of images."""
_MODULES_OF_IMAGES = ("tacit.mechanisms.selection", "tacit.designs.xmap.generator")
"""Modules that draw images; all other draws of a fit are of neighbours."""
_REQUESTED_SAMPLES_PER_FIT = 500
"""Whole fits are slow: of the samples that a caller requests, one in so many is made."""


def fit_published(settings: Mapping[str, Any], table: Ratings) -> Released:
    """Fit the published variant, and return the arrays of its file."""
    fitted = XMap(source=SOURCE, target=TARGET, variant="published", **settings).fit(table)
    assert isinstance(fitted.published_, PublishedModel)
    return collect_published_arrays(fitted.published_)


class Noise(NamedTuple):
    """Laplace noise of one released similarity: centre + step * draw of the sampler."""

    centre: float
    """The similarity without noise."""
    step: float
    """Change of the similarity if the sampler's draw is larger by 1."""
    sampler_scale: float
    """Scale with which the sampler is called."""


@dataclass(frozen=True)
class DrawnPart:
    """The part of a fit's draws that an audit looks at: all images, or one film's neighbours."""

    settings: Mapping[str, Any]
    """Parameters of XMap."""
    film: int | None = None
    """Number of the film among the films; None for images."""

    def list_executions(self, table: Ratings) -> list[Execution[Hashable]]:
        """Execute a fit in every possible way; the result of an execution is what it drew."""
        program = partial(fit_published, self.settings, table)
        return [
            Execution(execution.draws, self._read_drawn(execution.result))
            for execution in executions(program, self._is_enumerated)
        ]

    def noise(self, table: Ratings, neighbour: int) -> Noise:
        """Find the noise of the similarity of the film and one neighbour.

        The fit in which this neighbour is drawn is executed with a sampler that answers 0, and with
        one that answers 1.
        """
        with_neighbour = next(
            execution
            for execution in self.list_executions(table)
            if execution.result == (neighbour,)
        )
        indices = with_neighbour.indices
        program = partial(fit_published, self.settings, table)
        similarities = []
        for draw in (0, 1):
            with intercept_samplers(partial(_answer_with, draw)) as calls:
                execution = execute(program, indices, self._is_enumerated)
            similarities.append(float(execution.result["0.similarities"][self.film, 0]))
        similarity_at_0, similarity_at_1 = similarities
        return Noise(similarity_at_0, similarity_at_1 - similarity_at_0, calls[0].scale)

    def _is_enumerated(self, module: str, row: int) -> bool:
        """Say whether all outcomes of a draw are executed.

        Args:
            module: Module that draws.
            row: Row of the draw: for neighbours the number of the film.
        """
        draws_images = module in _MODULES_OF_IMAGES
        if self.film is None:
            return draws_images
        return not draws_images and row == self.film

    def _read_drawn(self, released: Released) -> Hashable:
        """Read what was drawn from the arrays of a model file."""
        if self.film is None:
            return tuple(released["0.images"].tolist())
        return tuple(released["0.neighbours"][self.film].tolist())


def _answer_with(draw: int, call: SamplerCall) -> NDArray[np.int64]:
    """Answer a call of the sampler with a fixed draw of noise."""
    return call.values + draw


def _chances_of_results(
    all_executions: Sequence[Execution[Hashable]],
) -> dict[Hashable, Fraction]:
    """Return the chance of each result."""
    return {execution.result: execution.chance for execution in all_executions}


def _sample_codes(
    all_executions: Sequence[Execution[Hashable]], code_of: Mapping[Hashable, int], count: int
) -> NDArray[np.int64]:
    """Sample executions by their chances, and return the (count,) codes of their results."""
    codes = np.array([code_of[execution.result] for execution in all_executions], dtype=np.int64)
    return codes[sample_executions(all_executions, count, secure())]


def choice_check(name: str, drawn_part: DrawnPart, pair: Tables) -> Check:
    """Make a check that compares what is drawn from two tables, exactly and by samples.

    Noise of similarities is not looked at.

    Args:
        name: Name of the pair.
        drawn_part: The part of the draws.
        pair: Tables with and without one person.
    """

    def check(samples: int, alpha: float) -> PairResult:
        with_person, without_person = (drawn_part.list_executions(table) for table in pair)
        p = _chances_of_results(with_person)
        q = _chances_of_results(without_person)
        results = dict.fromkeys([*p, *q])
        code_of = {result: code for code, result in enumerate(results)}
        sample_first = partial(_sample_codes, with_person, code_of)
        sample_second = partial(_sample_codes, without_person, code_of)
        distributions = (encode_outcomes(p, code_of), encode_outcomes(q, code_of))
        known = best_known_event(distributions, samples, alpha)
        sampled = compare(
            sample_first, sample_second, samples=samples, alpha=alpha, known_event=known
        )
        ideal = known.ideal if known else 0.0
        exact = exact_losses.exact_loss(p, q)
        return PairResult(name, exact, None, sampled.lower_bound, ideal, samples)

    return check


def number_of_film(pair: Tables, film: str) -> int:
    """Return the number of a film among the films of the catalogue."""
    ratings = pair[0]
    is_film = ratings.item_metadata["domain"] == TARGET
    position = ratings.item_ids.tolist().index(film)
    return int(is_film[:position].sum())


_ONE_NEIGHBOUR = {"significance": 0, "k": 1}
_IMAGES = DrawnPart(_ONE_NEIGHBOUR | {"epsilon": REPLACEMENT, "epsilon_prime": math.inf})


def _name_of_pair(people: int) -> str:
    """Name the tables of `strong_among_mild` in a report."""
    return f"a person of stars 5-5-1-1 among 2 x {people} people of 4-4-2-2"


def _neighbours_of_i(pair: Tables, k: int = 1, pnsa: Pnsa = "positive") -> DrawnPart:
    """Make the part of the draws with the neighbours of film `i`."""
    settings = _ONE_NEIGHBOUR | {"k": k, "epsilon": math.inf, "epsilon_prime": PRIME, "pnsa": pnsa}
    return DrawnPart(settings, number_of_film(pair, "i"))


def one_image() -> AuditedClaim:
    """Claim Theorem 1: a replacement costs epsilon."""
    checks = (
        choice_check("candidates that do not change", _IMAGES, turned_tables(1, 4)),
        choice_check("the person is the book's only link", _IMAGES, only_link()),
    )
    return AuditedClaim("prs-published", REPLACEMENT, checks, published=True)


def all_images() -> AuditedClaim:
    """Claim Theorem 1 for AlterEgos: one person can change all their images, not only one."""
    checks = (choice_check("three books, four films", _IMAGES, turned_tables(3, 4)),)
    return AuditedClaim("alterego-published", REPLACEMENT, checks, published=True)


def published_selection() -> AuditedClaim:
    """Claim PNSA's epsilon' / 2 for the draw of neighbours.

    Neighbours are drawn among all items, as printed, or among items of positive similarity. With 60
    people and all items, some chances are below the smallest that the sampler can draw, so larger
    groups are audited in the reading "positive".
    """

    def make_check(people: int, k: int, pnsa: Pnsa) -> Check:
        pair = strong_among_mild(people)
        name = f"{_name_of_pair(people)}, k = {k}, PNSA {pnsa}"
        return choice_check(name, _neighbours_of_i(pair, k, pnsa), pair)

    checks = (
        make_check(10, 1, "printed"),
        make_check(10, 1, "positive"),
        make_check(60, 1, "positive"),
        make_check(60, 2, "positive"),
    )
    return AuditedClaim("pnsa-published", PRIME / 2, checks, published=True)


def published_noise() -> AuditedClaim:
    """Claim PNCF's epsilon' / 2 for the noise on the similarities of neighbours.

    If the noise has different scales with and without a person, no epsilon holds.
    """
    pair = strong_among_mild(people=10)
    claim = PRIME / 2
    neighbours_of_i = _neighbours_of_i(pair)
    candidate = number_of_film(pair, "one")
    noises = [neighbours_of_i.noise(table, candidate) for table in pair]
    scales = [noise.step * noise.sampler_scale for noise in noises]
    name = f"{_name_of_pair(10)}; scales {scales[0]:.3g} and {scales[1]:.3g}"
    exact = math.inf
    if math.isclose(*scales):
        exact = abs(noises[0].centre - noises[1].centre) / scales[0]

    def sample_log_ratios(noise: Noise, count: int) -> Floats:
        """Sample releases with a noise, and compute their (count,) log likelihood ratios.

        These are the features by which an auditor who knows both tables tells them apart.
        """
        draws = samplers.discrete_laplace(np.zeros(count, dtype=np.int64), noise.sampler_scale)
        releases = noise.centre + draws * noise.step
        with_person, without_person = noises
        log_density = stats.laplace.logpdf(releases, with_person.centre, scales[0])
        log_density_without = stats.laplace.logpdf(releases, without_person.centre, scales[1])
        return np.asarray(log_density - log_density_without, dtype=np.float64)

    def check(samples: int, alpha: float) -> PairResult:
        with_person, without_person = noises
        count = samples // 10
        estimate = compare(
            partial(sample_log_ratios, with_person),
            partial(sample_log_ratios, without_person),
            samples=count,
            alpha=alpha,
        )
        return PairResult(name, exact, None, estimate.lower_bound, 0.0, count)

    return AuditedClaim("pncf-published", claim, (check,), published=True)


def published_fit() -> AuditedClaim:
    """Claim epsilon + epsilon' for the whole published model, fitted many times on both tables.

    The exact loss is infinite if the mean of any item differs, because means have no noise.
    """
    pair = strong_among_mild(people=60)
    epsilon = 0.3
    settings = {"k": 1, "epsilon": epsilon, "epsilon_prime": PRIME, "pnsa": "positive"}
    film = number_of_film(pair, "i")
    candidate = number_of_film(pair, "one")

    def sample_choices(table: Ratings, count: int) -> NDArray[Any]:
        """Fit `count` times: (count,) 1 if the film's neighbour is the candidate, otherwise 0."""
        is_candidate = []
        for _ in range(count):
            released = fit_published(settings, table)
            is_candidate.append(float(released["0.neighbours"][film, 0] == candidate))
        return np.array(is_candidate)

    def check(samples: int, alpha: float) -> PairResult:
        count = max(samples // _REQUESTED_SAMPLES_PER_FIT, 4)
        sample_first, sample_second = (partial(sample_choices, table) for table in pair)
        estimate = compare(sample_first, sample_second, samples=count, alpha=alpha)
        means = [fit_published(settings, table)["item_means"] for table in pair]
        loss = 0.0 if np.array_equal(means[0], means[1]) else math.inf
        name = f"{_name_of_pair(60)}: the one neighbour (k = 1) of film i"
        return PairResult(name, loss, None, estimate.lower_bound, 0.0, count)

    return AuditedClaim("x-map-published", epsilon + PRIME, (check,), published=True)


def fit(table: Ratings, epsilon: float = EPSILON) -> dict[str, NDArray[Any]]:
    """Fit the sound variant with stars, and return everything that it released, by name."""
    xmap = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA, stars=True)
    lists = xmap.fit(table).sound_
    assert lists is not None
    return worlds.released_numbers(lists)


@dataclass(frozen=True)
class SoundWorld(worlds.World):
    """A world of the design `private` that XMap is fitted to. Planted bugs of `private` apply."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit XMap, and return the released numbers."""
        return fit(table)


WORLD = SoundWorld("auto", True, stars=True)


def sums() -> AuditedClaim:
    """Claim the sound variant's epsilon, for the sums of `private` as XMap fits them."""
    return replace(audit_line(WORLD), mechanism="x-map-sound")


def rated_items_alone(ratings: Ratings, settings: Settings) -> tuple[Any, Catalogue]:
    """Planted bug: leave items that nobody rated out of the public catalogue."""
    is_rated = np.bincount(ratings.items, minlength=ratings.n_items) > 0
    domains = ratings.item_metadata[settings.domain].copy()
    domains[~is_rated] = None
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
"""Bugs that the audit must find. Each replaces one step of a fit."""

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
