"""Worlds that the tests of the design `private` share."""

from __future__ import annotations

import pytest

from tacit.data.ratings import Ratings
from tests.support.profile_worlds import make_world


@pytest.fixture(scope="session")
def world() -> Ratings:
    return make_world()


@pytest.fixture(scope="session")
def two_domains() -> Ratings:
    return make_world(domains=True)
