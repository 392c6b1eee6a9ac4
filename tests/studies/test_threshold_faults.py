"""Faults that begin above a size: planted at thresholds drawn anew, all have to be caught."""

from __future__ import annotations

import os
import secrets

import pytest

from benchmarks.studies.threshold_faults import KINDS, REAL, Kind, draw_faults, find_alarms

SEED_VARIABLE = "TACIT_FAULT_SEED"
SEED = int(os.environ.get(SEED_VARIABLE) or secrets.randbits(31))
"""Of the fresh faults: one of the environment, to try them again."""
QUICK = ("bits", "selection", "gaussian")
"""Artefacts whose real-size audits take a second."""


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if isinstance(kind, Kind) and kind.artefact in QUICK],
    ids=lambda kind: kind.artefact,
)
def test_a_fault_above_the_largest_threshold_is_caught(kind):
    """Just below the least real size, where only the large case shows it."""
    assert kind.is_caught(REAL[kind.artefact][1] - 1, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("number", range(20))
def test_a_fresh_fault_is_caught(number):
    """Kind and threshold from a seed that no one has seen; all twenty kinds, each once."""
    fault = draw_faults(20, SEED)[number]
    assert fault.is_caught(), f"{SEED_VARIABLE}={SEED}: {fault.describe()}"


def test_twenty_faults_are_of_twenty_kinds():
    """So that no kind is left to chance."""
    assert (
        len({fault.kind.name + str(fault.describe()["in"]) for fault in draw_faults(20, 1)}) == 20
    )


@pytest.mark.long
def test_the_code_without_a_fault_raises_no_alarm():
    """The same audits at real sizes, on a fresh seed; they are exact, so none may be raised."""
    seed = secrets.randbits(31)
    assert find_alarms(seed) == [], seed


def test_faults_are_planted_in_each_mechanism_sampler_and_kernel():
    """Sums, Gram matrices, disclosures, numbers, answers, choices, samplers and fits' kernels."""
    planted = {kind.artefact for kind in KINDS if isinstance(kind, Kind)}
    assert planted == set(REAL)
    kernels = {kind.name.partition(":")[0] for kind in KINDS if not isinstance(kind, Kind)}
    assert {"counts", "features", "item tastes"} <= kernels
