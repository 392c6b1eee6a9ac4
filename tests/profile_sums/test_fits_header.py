"""List of fits in a model file: what makes no sense is refused."""

from __future__ import annotations

import math

import pytest

from tacit.profile_sums.fits import Fit, fits_from_header, fits_to_header


@pytest.mark.parametrize("lifetime", ["inf", math.inf, "nan", -1.0, 0])
def test_a_lifetime_that_is_none_is_refused(lifetime):
    """A lifetime is a finite epsilon above 0; otherwise no later fit could be stopped by it."""
    header = fits_to_header([Fit("a", (2.0,))], None) | {"lifetime": lifetime}
    with pytest.raises(ValueError, match="lifetime"):
        fits_from_header(header, lambda _: (2.0,))
