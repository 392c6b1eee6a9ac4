"""XMap keeps the promises of every recommender."""

from __future__ import annotations

import math
from functools import cache

import pytest

from tacit import XMap
from tacit.engine import Engine
from tacit.errors import PrivacyError
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


class TestUserBased(XMapConformance):
    def make(self):
        return XMap(**self.settings(), variant="published", recommender="user-based")

    def test_model_file_gives_the_same_lists(self, tmp_path):
        """There is no such file: it would hold people, so saving is refused."""
        with pytest.raises(PrivacyError):
            self.fitted_model().save(tmp_path / "model")
