"""Worlds that the tests of sums over profiles share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tacit.data.ratings import Ratings
from tests.support import profile_worlds


@pytest.fixture(scope="session")
def world() -> Ratings:
    return profile_worlds.make_world()


@pytest.fixture(scope="session")
def people_of() -> Callable[..., Any]:
    return profile_worlds.make_people


@pytest.fixture(scope="session")
def one_domain_example() -> Any:
    return profile_worlds.one_domain_example()


@pytest.fixture(scope="session")
def two_domain_example() -> Any:
    return profile_worlds.two_domain_example()
