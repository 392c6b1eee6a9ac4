"""Bugs that real libraries and papers have had, planted to see whether the audit finds them.

Unless said otherwise the claim is epsilon 1. Where a bug can be described, the rule engine is asked
too, about the fault and about its repair.
"""

from __future__ import annotations

import math
import os

import numpy as np

from tacit.accounting import zcdp
from tacit.auditing import exact, faults, faults_inside
from tacit.auditing import planted_rules as rules
from tacit.auditing.bugs import (
    Bug,
    Contradicted,
    Enumerated,
    Normal,
    OnTheBench,
    Sampled,
    Watched,
    examine,
)
from tacit.auditing.empirical import itself
from tacit.auditing.rules import FirstPast
from tacit.auditing.shipped_noise import DELTA

__all__ = ["BUGS", "examine"]

_ONE_MULTIPLE = zcdp.epsilon_of(0.5, DELTA)  # what Gaussian noise of the sensitivity claims
_BITS_PAIR = ((0, 1),)
_SCORES = tuple(exact.within(1, 4))
_CROSSING = ((1.0,) + (0.0,) * 9, (0.0,) + (1.0,) * 9)

_FORKED = (
    (
        Sampled(
            "numpy generator shared after fork",
            faults.generator_shared_after_fork,
            1,
            0,
            features={"differ": lambda bits: bits[:, 0] ^ bits[:, 1]},
        ),
    )
    if hasattr(os, "fork")
    else ()
)  # where there is no fork, there is no such bug

BUGS: tuple[Bug, ...] = (
    Sampled(
        "noise 20 % too small",
        faults.noise_20_percent_too_small,
        1,
        0,
        described=rules.noise(1, 0.8, 1.0),
    ),
    Sampled(
        "noise 5 % too small",
        faults.noise_5_percent_too_small,
        1,
        0,
        described=rules.noise(1, 0.95, 1.0),
        samples=1_000_000,
    ),
    Sampled(
        "sensitivity of add/remove used with replace",
        faults.add_remove_noise_for_replace,
        (1, 0),
        (0, 1),
        described=rules.noise(2, 1.0, 2.0),
        features={"moved": lambda cells: (cells[:, 0] >= 1) & (cells[:, 1] <= 0)},
    ),
    Sampled(
        "float Laplace noise, low digits",
        faults.float_noise,
        0.0,
        1.0,
        features={"release": itself, "finer than 2^-53": lambda y: np.mod(y * 2.0**53, 1) != 0},
    ),
    Sampled(
        "same seed for two answers",
        faults.one_seed_for_two_answers,
        1,
        0,
        features={"difference": lambda pair: pair[:, 0] - pair[:, 1]},
    ),
    Sampled(
        "ten retries drawn again",
        faults.retries_drawn_again,
        1,
        0,
        described=rules.several(rules.bit(), 10),
        features={"sum": lambda bits: bits.sum(axis=1)},
    ),
    Sampled(
        "local report without memo",
        faults.report_without_memo,
        0,
        1,
        described=rules.several(rules.answer(4), 10),
        features={"zeros less ones": lambda y: (y == 0).sum(axis=1) - (y == 1).sum(axis=1)},
    ),
    Sampled("k-ary lie may be the truth", faults.lie_may_be_the_truth, 0, 1),
    Enumerated(
        "bit probability off by one",
        faults_inside.bit_off_by_one,
        _BITS_PAIR,
        math.log(3),
        described=rules.bit_off_by_one,
    ),
    Sampled(
        "threshold gate without noise on counts",
        faults.gate_without_count_noise,
        (0, 1),
        (1, 0),
        described=rules.gate_without_count_noise,
    ),
    OnTheBench(
        "threshold gate with half the noise on counts",
        faults_inside.gate_with_half_the_count_noise,
    ),
    OnTheBench(
        "threshold gate with half the noise on the threshold",
        faults_inside.gate_with_half_the_threshold_noise,
    ),
    OnTheBench(
        "threshold gate whose stream has no noise on counts",
        faults_inside.gate_with_an_exact_stream,
    ),
    Sampled(
        "threshold gate that never stops",
        faults.gate_never_stops,
        (0, 2) * 30,
        (1, 1) * 30,
        described=rules.several(FirstPast(1, 2.0, 4.0), 30),
        features={"odd less even": lambda y: y[:, 1::2].sum(axis=1) - y[:, ::2].sum(axis=1)},
    ),
    Enumerated(
        "selection without the factor 2",
        faults_inside.selection_without_the_2,
        _SCORES,
        2 * math.log(2),
        described=rules.choice(2 * math.log(2), math.log(2)),
    ),
    Sampled(
        "noisy max without the factor 2",
        faults.noisy_max_without_the_2,
        *_CROSSING,
        described=rules.choice(1.0, 0.5),
    ),
    Sampled(
        "item listed only if present",
        faults.listed_only_if_present,
        True,
        False,
        described=rules.listed_only_if_present,
    ),
    Sampled(
        "clamp missing", faults.clamp_missing, 100.0, 0.0, described=rules.unbounded(100, 5, 5.0)
    ),
    Sampled(
        "contribution bound missing",
        faults.contribution_bound_missing,
        10,
        0,
        described=rules.unbounded(10, 1, 1.0),
    ),
    Sampled("NaN survives", faults.nan_survives, math.nan, 5.0, described=rules.nan_survives),
    Watched(
        "error text depends on the data",
        faults_inside.error_tells_the_data,
        (([1.0, 5.0], [2.0, 5.0]), ([1.0, 9.0], [2.0, 9.0]), ([-1.0, 2.0], [-1.0, 3.0])),
    ),
    Sampled("tails cut", faults.tails_cut, 1, 0, samples=1_000_000),
    Sampled(
        "raw value once in 1,000",
        faults.raw_once_in_a_thousand,
        0,
        1,
        described=rules.raw_once_in_a_thousand,
        samples=1_000_000,
    ),
    Sampled(
        "exact count in a denominator",
        faults.exact_count_below_the_line,
        (5.0, 10),
        (5.0, 11),
        described=rules.exact_count_below_the_line,
    ),
    Normal("Gaussian sigma halved", faults.half_sigma, 1.0, 0.0),
    Normal("Gaussian sigma 10 % too small", faults.sigma_10_percent_too_small, 1.0, 0.0),
    Enumerated(
        "selection that always returns the top",
        faults_inside.always_the_top_item,
        _SCORES,
        2 * math.log(2),
        described=rules.always_the_top_item,
    ),
    Watched(
        "scale taken from the data",
        faults_inside.scale_from_the_data,
        (([1.0, 2.0], [1.0, 5.0]), ([1.0, 5.0, 3.0], [1.0, 5.0, 4.0]), ([4.0], [0.0])),
        described=rules.scale_from_the_data,
    ),
    Watched(
        "no noise where the count is zero",
        faults_inside.no_noise_on_zero,
        (([3, 0], [3, 1]), ([2, 2], [2, 3]), ([0, 0], [1, 0])),
        described=rules.no_noise_on_zero,
    ),
    Sampled(
        "k similarities charged as one",
        faults.similarities_charged_as_one,
        1,
        0,
        described=rules.similarities_charged_as_one,
        features={"how many": lambda y: (y >= 1).sum(axis=1)},
    ),
    Sampled(
        "tree without a level",
        faults.tree_without_a_level,
        (1, 0),
        (0, 0),
        described=rules.noise(2, 1.0, 2.0),
        features={"smaller": lambda totals: totals.min(axis=1)},
    ),
    OnTheBench("tree counter with log2 T levels", faults_inside.tree_with_log_levels),
    OnTheBench(
        "rounding of several numbers left out, Laplace", faults_inside.laplace_without_rounding
    ),
    OnTheBench(
        "rounding of several numbers left out, Gaussian",
        faults_inside.gaussian_without_rounding,
        epsilon=_ONE_MULTIPLE,
    ),
    OnTheBench("local instead of smooth sensitivity", faults_inside.local_for_smooth_sensitivity),
    Contradicted(
        "sampler that draws 0.9 of the scale it is asked for",
        faults_inside.sampler_of_90_percent,
        epsilon=4.0,
    ),
    *_FORKED,
)
"""Every planted bug with the pair of inputs on which its tool has to find it."""
