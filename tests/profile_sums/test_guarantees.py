"""The card of all fits: its texts promise no more than what is proved."""

from __future__ import annotations

import pytest

from tacit.profile_sums.fits import Fit
from tacit.profile_sums.guarantees import card_of_fits


@pytest.mark.parametrize(
    ("lifetime", "text"),
    [(8.0, "8"), (8.000000000000002, "8"), (8.00012, "8.001"), (0.3, "0.3")],
)
def test_a_limit_is_rounded_up_but_for_the_rounding_of_floats(lifetime: float, text: str) -> None:
    """As all bounds are: `format_upper_bound`."""
    card = card_of_fits([Fit("a", (2.0,))], 1e-6, lifetime=lifetime)
    assert f"up to epsilon {text} for all fits together" in card.lifetime
