"""The shipped device under the auditor, with its real coins, which no enumeration replaces."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.auditing.empirical import audit
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits, new_secret
from tacit.designs.sketches.messages import UNITS

ITEMS = list(range(24))
ANY = Limits(epsilon=50, lifetime=50, units=UNITS)
SAMPLES = 4_000


def releases(made, history):
    """Answers of so many people with these stars, each with a secret of her own."""

    def release(count):
        return np.array(
            [Device(new_secret(), {}, ANY).report(made, ITEMS, history).bits for _ in range(count)]
        )

    return release


def found(unit, questions):
    """Lower bound for somebody who likes everything against somebody who likes nothing."""
    made = new_campaign(
        ITEMS, rated=24, theta=7.0, questions=questions, epsilon=1.0, unit=unit, seed=bytes(16)
    )
    all_liked, none = dict.fromkeys(ITEMS, 5.0), dict.fromkeys(ITEMS, 1.0)
    evidence = audit(releases(made, all_liked), releases(made, none), samples=SAMPLES)
    return evidence.lower_bound


@pytest.mark.parametrize(("questions", "least"), [(1, 0.5), (3, 0.1)])
def test_no_more_than_epsilon_is_found(questions, least):
    """A person's whole report: a part of epsilon 1 is found, and never more (1e-6).

    With three bits the event that tells all of them apart is rare, so few samples show less.
    """
    assert least < found("user", questions) <= 1.0


def test_more_than_epsilon_is_found_where_there_is_more():
    """The planted fault: three bits that each cost epsilon, charged as if they shared it."""
    assert found("rating", 3) > 1.5
