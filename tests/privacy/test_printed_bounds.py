"""Bounds as texts: never on the unsafe side of the number, and short."""

from __future__ import annotations

import math
from decimal import localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy import format_lower_bound, format_upper_bound

NUMBERS = st.floats(1e-300, 1e300)


@given(number=NUMBERS, digits=st.integers(1, 12))
def test_an_upper_bound_is_not_below_the_number(number: float, digits: int) -> None:
    """It is at most one step of the last digit above it."""
    shown = float(format_upper_bound(number, digits=digits))
    assert number * (1 - 2e-12) <= shown <= number * (1 + 10 ** (1 - digits) + 1e-12)


@given(number=NUMBERS, digits=st.integers(1, 12))
def test_a_lower_bound_is_not_above_the_number(number: float, digits: int) -> None:
    """It is at most one step of the last digit below it."""
    shown = float(format_lower_bound(number, digits=digits))
    assert number * (1 - 10 ** (1 - digits) - 1e-12) <= shown <= number * (1 + 2e-12)


@pytest.mark.parametrize(
    ("number", "digits", "upper", "lower"),
    [
        (8.116421, 4, "8.117", "8.116"),
        (132.94689, 4, "133", "132.9"),
        (1.2173e-10, 3, "1.22e-10", "1.21e-10"),
        (0.3, 6, "0.3", "0.3"),
        (1.0000000000000033, 6, "1", "1"),
        (0.9999999999, 3, "1", "0.999"),
        (1e-6, 3, "1e-06", "1e-06"),
        (0.0, 4, "0", "0"),
        (math.inf, 4, "inf", "inf"),
    ],
)
def test_examples(number: float, digits: int, upper: str, lower: str) -> None:
    """Zeros at the end are left out, and so is what accountants add for the rounding of floats."""
    assert format_upper_bound(number, digits=digits) == upper
    assert format_lower_bound(number, digits=digits) == lower


def test_the_decimal_context_of_a_caller_does_not_matter() -> None:
    """A context of few digits would round the bound to the nearest of its own."""
    with localcontext(prec=3):
        assert format_upper_bound(8.116421, digits=4) == "8.117"
        assert format_lower_bound(8.116421, digits=4) == "8.116"
