"""Guarantee cards of the mechanisms: what ONE call guarantees, at a given epsilon.

To make a card, a mechanism is built with the public parameters that the card states, and an
accountant prices its event. So the card's epsilon is the real cost of the noise. Proofs are in
docs/mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from tacit.accounting.calibration import smallest_noise
from tacit.accounting.events import Event
from tacit.accounting.gdp import GDPAccountant
from tacit.accounting.pure import PureAccountant
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.sums import SumRelease
from tacit.mechanisms.topk import TopSelection
from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound

_LIST_LENGTH = 10
"""Length of the list on the card of `top-selection`."""
_MOST_FACTOR_DIGITS = 12
"""Most digits of the factor e^epsilon on a card; more would show the rounding of floats."""
_WRITTEN_AS_POWER = 13.8
"""From this epsilon on, a card writes the factor e^epsilon as a power, such as "e^13.8".

The factor is then about a million or more."""
_DISCRETE = "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020)"
_SAMPLER = f"{_DISCRETE}, for the sampler"
_WARNER = "Warner: Randomized response (JASA 1965)"
_EXTREMAL = "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)"
_MCSHERRY = "McSherry, Talwar: Mechanism design via differential privacy (FOCS 2007)"
_GAUSSIAN = (
    f"{_DISCRETE}, Theorem 4",
    "Bun, Steinke: Concentrated differential privacy (TCC 2016), for delta on a coarse grid",
    "Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022), for delta on a fine grid",
    "Peikert: An efficient and parallel Gaussian sampler for lattices (CRYPTO 2010), for the same",
)

_ANSWER = Adjacency("attribute value", "replace")
_PERSON = Adjacency("user", "add or remove")
_RATING = Adjacency("rating", "add or remove")
_STEP = Adjacency("reward", "replace")


@dataclass(frozen=True)
class Terms:
    """Texts of the card of one mechanism, and how the mechanism is built."""

    build: Callable[[float], Any]
    """Makes the mechanism from epsilon; for Gaussian noise, from the noise multiplier."""
    released: str
    """What one call releases."""
    adjacency: Adjacency
    """Which inputs are neighbours."""
    parameters: str
    """Description of the public parameters with which `build` makes the mechanism."""
    sensitivity: str
    """The assumption on how much neighbouring inputs differ."""
    beyond: str
    """What the mechanism does not protect, in addition to what no mechanism protects."""
    sources: tuple[str, ...]
    """Where mechanism and proof were published."""
    gaussian: bool = False
    """Whether the noise is Gaussian, so that the card has a delta."""


_NOT_OTHER_ANSWERS = "your other answers; which question was asked, or that you answered at all"
_COUNT_PARAMETERS = (
    "numbers from 0 to 1048576 in steps of 1, such as counts of ratings, one per item"
)
_COUNT_SENSITIVITY = "one rating moves one entry of the array, by at most 1"
_NOT_A_WHOLE_PERSON = (
    "a whole person with several ratings; the length of the array and where it came from"
)
_SCORE_PARAMETERS = "1000 candidates, scores from 0 to 65536, all fixed and public"
_SCORE_SENSITIVITY = "one person moves each candidate's score by at most 1"
_NOT_THE_SCORES = "the scores themselves, which must not be released"


def _build_laplace(epsilon: float) -> LaplaceRelease:
    """Build the mechanism of a card with `_COUNT_PARAMETERS`."""
    return LaplaceRelease(epsilon, sensitivity=1, lower=0, upper=1 << 20, resolution=1)


def _build_gaussian(noise_multiplier: float) -> GaussianRelease:
    """Build the mechanism of a card with `_COUNT_PARAMETERS`."""
    return GaussianRelease(noise_multiplier, sensitivity=1, lower=0, upper=1 << 20, resolution=1)


def _build_selection(epsilon: float) -> Selection:
    """Build the mechanism of a card with `_SCORE_PARAMETERS`."""
    return Selection(epsilon, candidates=1000, sensitivity=1, lower=0, upper=1 << 16, resolution=1)


TERMS: Mapping[str, Terms] = {
    "bit-release": Terms(
        build=BitRelease,
        released="one bit",
        adjacency=_ANSWER,
        parameters="none but epsilon",
        sensitivity="no sensitivity is required: any two values of the bit may be neighbours",
        beyond=_NOT_OTHER_ANSWERS,
        sources=(_WARNER, _EXTREMAL),
    ),
    "kary-response": Terms(
        build=lambda epsilon: KaryResponse(epsilon, categories=10),
        released="one answer",
        adjacency=_ANSWER,
        parameters="10 answers to choose from, given by the question",
        sensitivity="no sensitivity is required: any two answers may be neighbours",
        beyond=_NOT_OTHER_ANSWERS,
        sources=(_WARNER, _EXTREMAL),
    ),
    "laplace": Terms(
        build=_build_laplace,
        released="one array of numbers",
        adjacency=_RATING,
        parameters=_COUNT_PARAMETERS,
        sensitivity=_COUNT_SENSITIVITY,
        beyond=_NOT_A_WHOLE_PERSON,
        sources=(
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing (STOC 2009)",
            _SAMPLER,
        ),
    ),
    "gaussian": Terms(
        build=_build_gaussian,
        released="one array of numbers",
        adjacency=_RATING,
        parameters=_COUNT_PARAMETERS,
        sensitivity=_COUNT_SENSITIVITY,
        beyond=_NOT_A_WHOLE_PERSON,
        sources=_GAUSSIAN,
        gaussian=True,
    ),
    "selection": Terms(
        build=_build_selection,
        released="one choice",
        adjacency=_PERSON,
        parameters=_SCORE_PARAMETERS,
        sensitivity=_SCORE_SENSITIVITY,
        beyond=_NOT_THE_SCORES,
        sources=(_MCSHERRY,),
    ),
    "top-selection": Terms(
        build=lambda epsilon: TopSelection(_LIST_LENGTH, _build_selection(epsilon / _LIST_LENGTH)),
        released="one ordered list",
        adjacency=_PERSON,
        parameters=(
            f"a list of {_LIST_LENGTH}, epsilon / {_LIST_LENGTH} for each place; "
            f"{_SCORE_PARAMETERS}"
        ),
        sensitivity=_SCORE_SENSITIVITY,
        beyond=_NOT_THE_SCORES,
        sources=(
            _MCSHERRY,
            "Bhaskar, Laxman, Smith, Thakurta: Discovering frequent patterns (KDD 2010)",
            "Durfee, Rogers: Practical differentially private top-k selection (NeurIPS 2019)",
        ),
    ),
    "tree-counter": Terms(
        build=lambda epsilon: TreeCounter(epsilon, horizon=1024),
        released="all running totals of one counter",
        adjacency=_STEP,
        parameters="1024 steps, each with a whole number from 0 to 1",
        sensitivity=(
            "no sensitivity is required: values are clamped; a person with values in m steps pays "
            "m times"
        ),
        beyond="that a step happened, and when",
        sources=(
            "Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011)",
            "Dwork, Naor, Pitassi, Rothblum: Privacy under continual observation (STOC 2010)",
            _SAMPLER,
        ),
    ),
    "threshold-gate": Terms(
        build=lambda epsilon: ThresholdGate(epsilon, threshold=100),
        released="all answers of one gate until it stops",
        adjacency=_PERSON,
        parameters="a threshold of 100, stopping at or above it",
        sensitivity="one person moves each count by at most 1",
        beyond="the time of the stop, which is public",
        sources=(
            "Dwork, Roth: The algorithmic foundations of differential privacy (2014), Theorem 3.23",
            "Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017)",
            _SAMPLER,
        ),
    ),
    "gram": Terms(
        build=lambda noise: GramRelease(noise, items=1000),
        released="one matrix of item products",
        adjacency=_PERSON,
        parameters="1000 items, rows of length at most 1 in steps of 1/1024",
        sensitivity="no sensitivity is required: each person's row is clipped here",
        beyond=(
            "earlier processing of rows, unless it used that person's row and public values alone"
        ),
        sources=("Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014)", *_GAUSSIAN),
        gaussian=True,
    ),
    "sums": Terms(
        build=lambda noise: SumRelease(noise, rows=1000, width=2),
        released="one table of sums over people",
        adjacency=_PERSON,
        parameters="1000 rows of 2 sums, people's tables of length at most 1 in steps of 1/4096",
        sensitivity="no sensitivity is required: each person's whole table is clipped here",
        beyond=(
            "how entries were made, unless from that person's data and public or released values "
            "alone"
        ),
        sources=(
            "Dwork, Kenthapadi, McSherry, Mironov, Naor: Our data, ourselves (EUROCRYPT 2006)",
            *_GAUSSIAN,
        ),
        gaussian=True,
    ),
}

NAMES: tuple[str, ...] = tuple(TERMS)
"""The mechanisms that have a card."""


def guarantee_of(name: str, *, epsilon: float, delta: float | None = None) -> Guarantee:
    """Return the card of one call of a mechanism.

    Args:
        name: One of `NAMES`.
        epsilon: Nats that the call may cost: at least `SMALLEST_EPSILON`, for "top-selection" in
            each place of the list; and finite.
        delta: Above 0 and below 1 for mechanisms with Gaussian noise, which have no pure epsilon;
            None for all others.

    Raises:
        ConfigError: There is no such mechanism, or epsilon and delta do not fit it.
    """
    if name not in TERMS:
        raise ConfigError(f"No mechanism '{name}'. Mechanisms: {', '.join(NAMES)}.")
    terms = TERMS[name]
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise ConfigError("Without noise there is no guarantee: epsilon has to be finite.")
    if terms.gaussian:
        return _gaussian_guarantee(name, terms, epsilon, delta)
    if delta is not None:
        raise ConfigError(f"{name} has a pure epsilon, with delta 0: give it no delta.")
    price = PureAccountant().add(terms.build(epsilon).event).epsilon()
    return _card(name, terms, price, 0.0, terms.parameters)


def _gaussian_guarantee(name: str, terms: Terms, epsilon: float, delta: float | None) -> Guarantee:
    """Return the card of the smallest Gaussian noise that costs at most (epsilon, delta).

    Raises:
        ConfigError: `delta` is missing or out of range, or no noise meets the budget.
    """
    if delta is None or not 0 < delta < 1:
        raise ConfigError(
            f"{name} has no pure epsilon: give it a delta above 0 and below 1, such as 1e-6."
        )

    def make_event(noise_multiplier: float) -> Event:
        """Return the event of the mechanism with this noise."""
        event: Event = terms.build(noise_multiplier).event
        return event

    exact_noise = smallest_noise(make_event, epsilon=epsilon, delta=delta, accountant=GDPAccountant)
    # The card states the noise with six digits, rounded up, and the price of exactly that noise.
    six_digits = Context(prec=6, rounding=ROUND_CEILING)
    noise = float(six_digits.create_decimal_from_float(exact_noise))
    price = GDPAccountant().add(make_event(noise)).epsilon(delta)
    parameters = f"{terms.parameters}, noise multiplier {noise:.6g}"
    return _card(name, terms, price, delta, parameters)


def _card(name: str, terms: Terms, epsilon: float, delta: float, parameters: str) -> Guarantee:
    """Make the card of a mechanism.

    Args:
        name: Name of the mechanism.
        terms: The texts of the card that do not depend on epsilon.
        epsilon: Nats that one call costs at delta.
        delta: Delta of one call; 0 for a pure epsilon.
        parameters: Description of the public parameters.
    """
    unit = terms.adjacency.unit
    is_local = terms.adjacency == _ANSWER
    effect_of_others = "others change the noise, not epsilon"
    if terms.gaussian:
        effect_of_others = "others may change epsilon, too"
    other_knowledge = "and anything else about you" if is_local else "and holds all other data"
    return Guarantee(
        name=f"{name}, {terms.released}",
        sentence=_sentence(terms, epsilon, delta),
        protects=f"one {unit}, from anyone who reads {terms.released}",
        adjacency=terms.adjacency,
        against=(
            f"everyone who reads {terms.released}, knows the method and its public parameters, "
            f"{other_knowledge}"
        ),
        trust=Trust.NOBODY if is_local else Trust.PLATFORM,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=(
            f"no epsilon over a lifetime: this one is for one release, that is {terms.released}; n "
            f"calls about the same {unit} cost at most n times as much, which tacit.accounting "
            "adds up"
        ),
        assumptions=(
            f"public parameters, here: {parameters}; {effect_of_others}",
            terms.sensitivity,
            f"the unit is the caller's; this card takes {terms.adjacency}",
            "noise from the operating system's generator",
        ),
        not_covered=(
            "repeated calls: each draws new noise and adds its cost",
            terms.beyond,
            "how long a call takes",
            "floating point outside the call: what is passed in must keep to what is stated here",
        ),
        sources=(*terms.sources, "the proof: Mechanisms, in the documentation"),
    )


def _sentence(terms: Terms, epsilon: float, delta: float) -> str:
    """Say what epsilon and delta mean to a person, to whom the card says "you"."""
    if epsilon < _WRITTEN_AS_POWER:
        factor = _format_factor(math.exp(epsilon))
    else:
        factor = f"e^{format_upper_bound(epsilon, digits=3)}"
    chance = f", plus a chance of {format_upper_bound(delta)}" if delta else ""
    return (
        f"Any property of {terms.released} is at most {factor} times as likely as it "
        f"would be {_neighbour(terms.adjacency)}{chance}; and the reverse."
    )


def _format_factor(factor: float) -> str:
    """Format e^epsilon, rounded up: to 3 digits, and at most by a tenth of what it exceeds 1."""
    digits = 3
    # From 1.1 on, a step of the third digit, 0.01, is at most a tenth of the excess.
    if 1 < factor < 1.1:
        digits = min(2 - math.floor(math.log10(factor - 1)), _MOST_FACTOR_DIGITS)
    return format_upper_bound(factor, digits=digits)


def _neighbour(adjacency: Adjacency) -> str:
    """Return the clause that describes the neighbouring input; it begins with "if"."""
    if adjacency.change == "replace":
        return f"if your {adjacency.unit} were another one"
    if adjacency.unit == "user":
        return "if you were not in the data"
    return f"if one {adjacency.unit} of yours were not in the data"
