"""The chances to be rated: what the likelihood of a log odds ratio profiles out."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.standard_scheme.training.estimates import profile_likelihood


@pytest.mark.parametrize(("n_first", "n_second"), [(40.0, 60.0), (300.0, 20.0)])
def test_both_shares_explain_what_was_observed(n_first, n_second):
    """At every log odds ratio the expected number of raters is the observed one."""
    first = np.array([1.0, 12.0, 30.0, 5.0])
    second = np.array([4.0, 15.0, 2.0, 18.0])
    _, p, q = profile_likelihood(first, n_first, second, n_second)
    expected = n_first * p + n_second * q
    assert expected == pytest.approx(np.tile((first + second)[:, None], p.shape[1]), rel=1e-6)
