"""The client of a shop's backend, before anything is sent."""

from __future__ import annotations

import math

import pytest

from tacit.client.backend import Backend
from tacit.errors import ConfigError


@pytest.mark.parametrize(
    "stars", [math.nan, math.inf, 10**400, "five", None], ids=lambda stars: str(stars)[:9]
)
def test_stars_that_are_no_number_are_refused(stars):
    """In a sentence that names the item; nothing is sent."""
    backend = Backend("https://shop.example", "key")
    with pytest.raises(ConfigError, match=r"Stars are finite numbers; got .* for 'film'"):
        backend.recommend("model", {"film": stars})
