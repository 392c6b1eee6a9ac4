"""Audited claims of X-Map: the paper's, which are refuted, and those of the sound variant.

The card of the published variant says what the paper claims and why it fails. For the claims on
images (Theorem 1) and on PNSA, a whole fit is executed once for every possible outcome of its draws
of this kind. The chances of these outcomes follow from the weights with which the shipped code
draws. So they are exact, and outcomes can be sampled by them. For PNCF, noise is sampled at the
scales of two fits. For the whole published model, fits are repeated.

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
    reversing_tables,
    strong_among_mild,
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

EPSILON_PRIME = 0.8
"""epsilon' of the audits of neighbours, in nats: that of the paper's item-based recommender."""
EPSILON_OF_IMAGES = 1.0
"""epsilon of the audits of images, in nats."""
_MODULES_OF_IMAGES = ("tacit.mechanisms.selection", "tacit.designs.xmap.generator")
"""Modules that draw images; all other draws of a fit are of neighbours."""
_REQUESTED_SAMPLES_PER_FIT = 500
"""Number of requested samples for which one whole fit is made, since fits are slow. At least four
fits are made."""
_REQUESTED_SAMPLES_PER_RATIO = 10
"""Number of requested samples for which one log likelihood ratio is sampled."""


def fit_published(settings: Mapping[str, Any], table: Ratings) -> Released:
    """Fit the published variant from books to films, and return the arrays of its file.

    Args:
        settings: Further parameters of XMap.
        table: Ratings with the item metadata `domain`.
    """
    fitted = XMap(source=SOURCE, target=TARGET, variant="published", **settings).fit(table)
    assert isinstance(fitted.published_, PublishedModel)
    return collect_published_arrays(fitted.published_)


class Noise(NamedTuple):
    """A similarity as it is released, with Laplace noise: centre + step * draw of the sampler."""

    centre: float
    """The similarity without noise."""
    step: float
    """Change of the similarity if the sampler's draw is larger by 1."""
    sampler_scale: float
    """Scale with which the sampler is called."""


@dataclass(frozen=True)
class DrawnPart:
    """The part of a fit's draws that an audit compares: all images, or one film's neighbours."""

    settings: Mapping[str, Any]
    """Parameters of XMap."""
    film: int | None = None
    """Number, among the films, of the film whose neighbours are compared; None for images."""

    def list_executions(self, table: Ratings) -> list[Execution[Hashable]]:
        """Execute a fit for every possible outcome of this part of its draws.

        The result of an execution is what this part drew: a tuple of images or of neighbours.
        """
        program = partial(fit_published, self.settings, table)
        return [
            Execution(execution.draws, self._read_drawn(execution.result))
            for execution in executions(program, self._is_enumerated)
        ]

    def noise(self, table: Ratings, neighbour: int) -> Noise:
        """Find the noise of the similarity of the film and one neighbour.

        The fit in which this neighbour is drawn is executed twice: with noise of the sampler that
        is always 0, and with noise that is always 1.

        Args:
            table: Ratings.
            neighbour: Number of the neighbour among the films; it is the only one (k = 1).
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
        """Return whether a draw belongs to this part, so that all its outcomes are executed.

        Args:
            module: Name of the module that draws.
            row: Row of the draw among those made together: for neighbours the number of the film.
        """
        draws_images = module in _MODULES_OF_IMAGES
        if self.film is None:
            return draws_images
        return not draws_images and row == self.film

    def _read_drawn(self, released: Released) -> Hashable:
        """Find in the arrays of a model file what this part drew."""
        if self.film is None:
            return tuple(released["0.images"].tolist())
        return tuple(released["0.neighbours"][self.film].tolist())


def _answer_with(draw: int, call: SamplerCall) -> NDArray[np.int64]:
    """Answer a call of the sampler with a fixed draw of noise, added to the values of the call."""
    return call.values + draw


def _chances_of_results(
    all_executions: Sequence[Execution[Hashable]],
) -> dict[Hashable, Fraction]:
    """Return the chance of each result; different executions have different results."""
    return {execution.result: execution.chance for execution in all_executions}


def _sample_codes(
    all_executions: Sequence[Execution[Hashable]], code_of: Mapping[Hashable, int], count: int
) -> NDArray[np.int64]:
    """Sample executions by their chances, and return the (count,) codes of their results.

    Args:
        all_executions: The executions of a fit.
        code_of: A whole number for each result.
        count: Number of samples.
    """
    codes = np.array([code_of[execution.result] for execution in all_executions], dtype=np.int64)
    return codes[sample_executions(all_executions, count, secure())]


def choice_check(name: str, drawn_part: DrawnPart, pair: Tables) -> Check:
    """Make a check that compares the draws of fits with and without a person.

    Their chances are compared exactly, and by samples.

    The noise of similarities is not compared.

    Args:
        name: Name of the pair.
        drawn_part: The part of the draws that is compared.
        pair: Tables with and without one person.
    """

    def check(samples: int, alpha: float) -> PairResult:
        """Execute the fits of both tables, and compare the chances of what they draw."""
        with_person = drawn_part.list_executions(pair[0])
        without_person = drawn_part.list_executions(pair[1])
        chances_with = _chances_of_results(with_person)
        chances_without = _chances_of_results(without_person)
        distinct_results = dict.fromkeys([*chances_with, *chances_without])
        code_of = {result: code for code, result in enumerate(distinct_results)}
        distributions = (
            encode_outcomes(chances_with, code_of),
            encode_outcomes(chances_without, code_of),
        )
        known = best_known_event(distributions, samples, alpha)
        estimate = compare(
            partial(_sample_codes, with_person, code_of),
            partial(_sample_codes, without_person, code_of),
            samples=samples,
            alpha=alpha,
            known_event=known,
        )
        return PairResult(
            pair=name,
            exact=exact_losses.exact_loss(chances_with, chances_without),
            rule_bound=None,
            lower_bound=estimate.lower_bound,
            ideal=known.ideal if known else 0.0,
            samples=samples,
        )

    return check


def number_of_film(pair: Tables, film: str) -> int:
    """Return the number of a film among the films of the catalogue, from 0."""
    ratings = pair[0]
    is_film = ratings.item_metadata["domain"] == TARGET
    position = ratings.item_ids.tolist().index(film)
    return int(is_film[:position].sum())


_ONE_NEIGHBOUR = {"significance": 0, "k": 1}
"""Parameters of XMap: one neighbour, and similarities that are not scaled down."""
_IMAGES = DrawnPart(_ONE_NEIGHBOUR | {"epsilon": EPSILON_OF_IMAGES, "epsilon_prime": math.inf})


def _name_of_pair(people: int) -> str:
    """Return the name of the tables of `strong_among_mild` in a report."""
    return f"a person of stars 5-5-1-1 among 2 x {people} people of 4-4-2-2"


def _neighbours_of_i(pair: Tables, k: int = 1, pnsa: Pnsa = "positive") -> DrawnPart:
    """Make the part of the draws with the neighbours of film `i`."""
    settings = _ONE_NEIGHBOUR | {
        "k": k,
        "epsilon": math.inf,
        "epsilon_prime": EPSILON_PRIME,
        "pnsa": pnsa,
    }
    return DrawnPart(settings, number_of_film(pair, "i"))


def one_image() -> AuditedClaim:
    """Make the claim of Theorem 1: one replacement costs epsilon."""
    checks = (
        choice_check("candidates that do not change", _IMAGES, reversing_tables(1, 4)),
        choice_check("the person is the book's only link", _IMAGES, only_link()),
    )
    return AuditedClaim("prs-published", EPSILON_OF_IMAGES, checks, published=True)


def all_images() -> AuditedClaim:
    """Make the claim of Theorem 1 for whole AlterEgos: all images together cost epsilon.

    The audit refutes the claim, because one person can change all images and not only one.
    """
    checks = (choice_check("three books, four films", _IMAGES, reversing_tables(3, 4)),)
    return AuditedClaim("alterego-published", EPSILON_OF_IMAGES, checks, published=True)


def published_selection() -> AuditedClaim:
    """Make the claim that PNSA's draw of neighbours costs epsilon' / 2.

    Neighbours are drawn among all items, as printed, or among items of positive similarity. With
    two groups of 60 people and all items, some chances are below the smallest with which the
    sampler can draw. So groups of this size are audited in the reading "positive" only.
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
    return AuditedClaim("pnsa-published", EPSILON_PRIME / 2, checks, published=True)


def published_noise() -> AuditedClaim:
    """Make the claim that PNCF's noise on the similarities of neighbours costs epsilon' / 2.

    The audit refutes the claim: the noise has different scales with and without a person, so no
    epsilon holds.
    """
    pair = strong_among_mild(people=10)
    claim = EPSILON_PRIME / 2
    neighbours_of_i = _neighbours_of_i(pair)
    candidate = number_of_film(pair, "one")
    noises = [neighbours_of_i.noise(table, candidate) for table in pair]
    scales = [noise.step * noise.sampler_scale for noise in noises]
    name = f"{_name_of_pair(10)}; scales {scales[0]:.3g} and {scales[1]:.3g}"
    exact = math.inf
    if math.isclose(*scales):
        exact = abs(noises[0].centre - noises[1].centre) / scales[0]

    def sample_log_ratios(noise: Noise, count: int) -> Floats:
        """Sample noisy similarities, and compute their (count,) log likelihood ratios.

        These are the features by which an auditor who knows both tables tells them apart.
        """
        draws = samplers.discrete_laplace(np.zeros(count, dtype=np.int64), noise.sampler_scale)
        releases = noise.centre + draws * noise.step
        with_person, without_person = noises
        log_density = stats.laplace.logpdf(releases, with_person.centre, scales[0])
        log_density_without = stats.laplace.logpdf(releases, without_person.centre, scales[1])
        return np.asarray(log_density - log_density_without, dtype=np.float64)

    def check(samples: int, alpha: float) -> PairResult:
        """Compare log likelihood ratios of releases with and without the person."""
        with_person, without_person = noises
        count = samples // _REQUESTED_SAMPLES_PER_RATIO
        estimate = compare(
            partial(sample_log_ratios, with_person),
            partial(sample_log_ratios, without_person),
            samples=count,
            alpha=alpha,
        )
        return PairResult(
            pair=name,
            exact=exact,
            rule_bound=None,
            lower_bound=estimate.lower_bound,
            ideal=0.0,
            samples=count,
        )

    return AuditedClaim("pncf-published", claim, (check,), published=True)


def published_fit() -> AuditedClaim:
    """Make the claim that the whole published model costs epsilon + epsilon'.

    The lower bound is from the neighbours of many fits on both tables. The exact loss is that of
    the items' means alone, which have no noise: infinite if any of them differs, else 0.
    """
    pair = strong_among_mild(people=60)
    epsilon = 0.3
    settings = {"k": 1, "epsilon": epsilon, "epsilon_prime": EPSILON_PRIME, "pnsa": "positive"}
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
        """Compare the neighbours and the means of fits with and without the person."""
        count = max(samples // _REQUESTED_SAMPLES_PER_FIT, 4)
        with_person, without_person = pair
        estimate = compare(
            partial(sample_choices, with_person),
            partial(sample_choices, without_person),
            samples=count,
            alpha=alpha,
        )
        means_with = fit_published(settings, with_person)["item_means"]
        means_without = fit_published(settings, without_person)["item_means"]
        loss = 0.0 if np.array_equal(means_with, means_without) else math.inf
        return PairResult(
            pair=f"{_name_of_pair(60)}: the one neighbour (k = 1) of film i",
            exact=loss,
            rule_bound=None,
            lower_bound=estimate.lower_bound,
            ideal=0.0,
            samples=count,
        )

    return AuditedClaim("x-map-published", epsilon + EPSILON_PRIME, (check,), published=True)


def fit(table: Ratings, epsilon: float = EPSILON) -> dict[str, NDArray[Any]]:
    """Fit the sound variant, with stars, from books to films; return what it released, by name.

    Args:
        table: Ratings with the item metadata `domain`.
        epsilon: Nats for a person's whole profile.
    """
    xmap = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA, stars=True)
    lists = xmap.fit(table).sound_
    assert lists is not None
    return worlds.released_numbers(lists)


@dataclass(frozen=True)
class SoundWorld(worlds.World):
    """A world of the design `private` in which XMap is fitted.

    Bugs that are planted into the steps of `private` change these fits, too.
    """

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Fit XMap, and return the released numbers by name."""
        return fit(table)


WORLD = SoundWorld("auto", True, stars=True)
"""The world of the audit of the sound variant."""


def sums() -> AuditedClaim:
    """Make the claim of the sound variant, for the sums of `private` as XMap fits them."""
    return replace(audit_line(WORLD), mechanism="x-map-sound")


def keep_rated_items(ratings: Ratings, settings: Settings) -> tuple[Any, Catalogue]:
    """Do what `keep_domains` does, with a planted bug: items that nobody rated are left out.

    The catalogue then depends on the ratings, while it is assumed public.
    """
    is_rated = np.bincount(ratings.items, minlength=ratings.n_items) > 0
    domains = ratings.item_metadata[settings.domain].copy()
    domains[~is_rated] = None
    metadata = {**ratings.item_metadata, settings.domain: domains}
    return keep_domains(replace(ratings, item_metadata=metadata), settings)


BUGS = (
    PlantedBug(
        "items that nobody rated left out",
        {model: {"keep_domains": keep_rated_items}},
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
"""Functions that make the claims of the paper."""
BENCH: tuple[Callable[[], AuditedClaim], ...] = (*PUBLISHED, sums)
"""Functions that make all audited claims."""


def audit() -> AuditPlan:
    """Plan the audit of both variants."""
    return AuditPlan(
        {"": BENCH},
        BUGS,
        studies=(tables.STUDY,),
        conclusion="The paper's claims are refuted. No violation of the library's claims was "
        "found, and that is no proof.",
        next_step="tacit guarantee xmap --epsilon 1  reads what each variant promises.",
    )
