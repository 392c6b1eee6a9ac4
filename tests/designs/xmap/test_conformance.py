"""XMap keeps the promises of every recommender."""

from __future__ import annotations

import math
from functools import cache

import pytest

from tacit import XMap
from tacit.engine import Engine
from tacit.testing import RecommenderConformance


class XMapConformance(RecommenderConformance):
    """Two domains, each the target of the other, so that lists reach the whole catalogue."""

    @pytest.fixture(autouse=True)
    def _worlds(self, make_world):
        self.world = cache(make_world)

    def data(self, seed=1):
        return self.world(seed)

    def settings(self):
        return {"target": ("books", "films"), "epsilon": math.inf, "k": 10, "engine": Engine()}


class TestNXMap(XMapConformance):
    def make(self):
        return XMap(**self.settings(), variant="published")


class TestSound(XMapConformance):
    def make(self):
        return XMap(**self.settings(), stars=True)
