"""Guarantee cards of the mechanisms: what ONE call guarantees, at a given epsilon.

A mechanism is built with stated public parameters, and its event is priced by an accountant, so
that a card states what the noise really costs. The proofs are in docs/mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

from tacit.accounting import GDPAccountant, PureAccountant, smallest_noise
from tacit.errors import ConfigError
from tacit.mechanisms.noise import GaussianRelease, LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.running import ThresholdGate, TreeCounter
from tacit.mechanisms.samplers import check_epsilon
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.sums import GramRelease, SumRelease
from tacit.mechanisms.topk import TopSelection
from tacit.privacy import Adjacency, Basis, Guarantee, Trust

_PLACES = 10
_LARGE = 13.8  # nats: from about a million on, a factor is written as a power
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
    """What is specific to one mechanism.

    build: epsilon -> the mechanism; for Gaussian noise, noise multiplier -> the mechanism.
    released: by one call. parameters: those that `build` takes, in words.
    """

    build: Callable[..., Any]
    released: str
    adjacency: Adjacency
    parameters: str
    sensitivity: str
    beyond: str
    sources: tuple[str, ...]
    gaussian: bool = False


_NO_LIMIT = "your other answers; which question was asked, or that you answered at all"
_COUNTS = (
    "numbers from 0 to 1048576 in steps of 1, such as counts of ratings, one per item",
    "one rating moves one entry of the array, by at most 1",
    "a whole person with several ratings; the length of the array and where it came from",
)
_ON_COUNTS = {"sensitivity": 1, "lower": 0, "upper": 1 << 20, "resolution": 1}
_SCORES = (
    "1000 candidates, scores from 0 to 65536, all fixed and public",
    "one person moves each candidate's score by at most 1",
    "the scores themselves, which must not be released",
)
_ON_SCORES = (1000, 1, 0, 1 << 16, 1)  # candidates, sensitivity, bounds, resolution

TERMS: Mapping[str, Terms] = {
    "bit-release": Terms(
        BitRelease,
        "one bit",
        _ANSWER,
        "none but epsilon",
        "no sensitivity is required: any two values of the bit may be neighbours",
        _NO_LIMIT,
        (_WARNER, _EXTREMAL),
    ),
    "kary-response": Terms(
        lambda epsilon: KaryResponse(epsilon, categories=10),
        "one answer",
        _ANSWER,
        "10 answers to choose from, given by the question",
        "no sensitivity is required: any two answers may be neighbours",
        _NO_LIMIT,
        (_WARNER, _EXTREMAL),
    ),
    "laplace": Terms(
        lambda epsilon: LaplaceRelease(epsilon, **_ON_COUNTS),
        "one array of numbers",
        _RATING,
        *_COUNTS,
        (
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing (STOC 2009)",
            _SAMPLER,
        ),
    ),
    "gaussian": Terms(
        lambda noise: GaussianRelease(noise, **_ON_COUNTS),
        "one array of numbers",
        _RATING,
        *_COUNTS,
        _GAUSSIAN,
        gaussian=True,
    ),
    "selection": Terms(
        lambda epsilon: Selection(epsilon, *_ON_SCORES),
        "one choice",
        _PERSON,
        *_SCORES,
        (_MCSHERRY,),
    ),
    "top-selection": Terms(
        lambda epsilon: TopSelection(_PLACES, Selection(epsilon / _PLACES, *_ON_SCORES)),
        "one ordered list",
        _PERSON,
        f"a list of {_PLACES}, epsilon / {_PLACES} for each place; {_SCORES[0]}",
        *_SCORES[1:],
        (
            _MCSHERRY,
            "Bhaskar, Laxman, Smith, Thakurta: Discovering frequent patterns (KDD 2010)",
            "Durfee, Rogers: Practical differentially private top-k selection (NeurIPS 2019)",
        ),
    ),
    "tree-counter": Terms(
        lambda epsilon: TreeCounter(epsilon, horizon=1024),
        "all running totals of one counter",
        _STEP,
        "1024 steps, each with a whole number from 0 to 1",
        "no sensitivity is required: values are clamped; a person with values in m steps pays m "
        "times",
        "that a step happened, and when",
        (
            "Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011)",
            "Dwork, Naor, Pitassi, Rothblum: Privacy under continual observation (STOC 2010)",
            _SAMPLER,
        ),
    ),
    "threshold-gate": Terms(
        lambda epsilon: ThresholdGate(epsilon, threshold=100),
        "all answers of one gate until it stops",
        _PERSON,
        "a threshold of 100, stopping above it",
        "one person moves each count by at most 1",
        "the time of the stop, which is public",
        (
            "Dwork, Roth: The algorithmic foundations of differential privacy (2014), Theorem 3.23",
            "Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017)",
            _SAMPLER,
        ),
    ),
    "gram": Terms(
        lambda noise: GramRelease(noise, items=1000),
        "one matrix of item products",
        _PERSON,
        "1000 items, rows of length at most 1 in steps of 1/1024",
        "no sensitivity is required: each person's row is clipped here",
        "earlier processing of rows, unless it used that person's row and public values alone",
        ("Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014)", *_GAUSSIAN),
        gaussian=True,
    ),
    "sums": Terms(
        lambda noise: SumRelease(noise, rows=1000, width=2),
        "one table of sums over people",
        _PERSON,
        "1000 rows of 2 sums, people's tables of length at most 1 in steps of 1/4096",
        "no sensitivity is required: each person's whole table is clipped here",
        "how entries were made, unless from that person's data and public or released values alone",
        (
            "Dwork, Kenthapadi, McSherry, Mironov, Naor: Our data, ourselves (EUROCRYPT 2006)",
            *_GAUSSIAN,
        ),
        gaussian=True,
    ),
}

NAMES: tuple[str, ...] = tuple(TERMS)
"""The mechanisms that have a card."""


def guarantee_of(name: str, *, epsilon: float, delta: float | None = None) -> Guarantee:
    """The card of one call of a mechanism of `NAMES`.

    epsilon: nats that the call may cost. delta: for Gaussian noise, which has no pure epsilon, and
    for nothing else; above 0 and below 1. Other values raise ConfigError.
    """
    if name not in TERMS:
        raise ConfigError(f"No mechanism '{name}'. Mechanisms: {', '.join(NAMES)}.")
    terms = TERMS[name]
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise ConfigError("Without noise there is no guarantee: epsilon has to be finite.")
    if not terms.gaussian:
        if delta is not None:
            raise ConfigError(f"{name} has a pure epsilon, with delta 0: give it no delta.")
        return _card(name, terms, PureAccountant().add(terms.build(epsilon).event).epsilon(), 0.0)
    if delta is None or not 0 < delta < 1:
        raise ConfigError(
            f"{name} has no pure epsilon: give it a delta above 0 and below 1, such as 1e-6."
        )

    def event(noise: float) -> Any:
        return terms.build(noise).event

    noise = smallest_noise(event, epsilon=epsilon, delta=delta, accountant=GDPAccountant)
    six_digits = Context(prec=6, rounding=ROUND_CEILING)
    noise = float(six_digits.create_decimal_from_float(noise))  # as stated on the card
    price = GDPAccountant().add(event(noise)).epsilon(delta)
    return _card(name, terms, price, delta, f", noise multiplier {noise:.6g}")


def _card(name: str, terms: Terms, epsilon: float, delta: float, noise: str = "") -> Guarantee:
    unit, local = terms.adjacency.unit, terms.adjacency == _ANSWER
    otherwise = f"if one {unit} of yours were not in the data"
    if terms.adjacency.change == "replace":
        otherwise = f"if your {unit} were another one"
    elif unit == "user":
        otherwise = "if you were not in the data"
    factor = f"{math.exp(epsilon):.3g}" if epsilon < _LARGE else f"e^{epsilon:.3g}"
    rest = f", plus a chance of {delta:g}" if delta else ""
    chosen = terms.parameters + noise
    return Guarantee(
        name=f"{name}, {terms.released}",
        sentence=(
            f"Any property of {terms.released} is at most {factor} times as likely as it "
            f"would be {otherwise}{rest}; and the reverse."
        ),
        protects=f"one {unit}, from anyone who reads {terms.released}",
        adjacency=terms.adjacency,
        against=(
            f"everyone who reads {terms.released}, knows the method and its public parameters, "
            + ("and anything else about you" if local else "and holds all other data")
        ),
        trust=Trust.NOBODY if local else Trust.PLATFORM,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=(
            f"no epsilon over a lifetime: this one is for one release, that is {terms.released}; n "
            f"calls about the same {unit} cost n times as much, which tacit.accounting adds up"
        ),
        assumptions=(
            f"public parameters, here: {chosen}; others change the noise, not epsilon",
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
