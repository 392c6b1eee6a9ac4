"""Campaigns and histories that several test files ask for."""

from __future__ import annotations

import pytest

from tacit.designs.sketches.campaigns import new_campaign

SEED = bytes(range(16))


@pytest.fixture
def campaign():
    """A campaign about items 0, 1, ..., with a fixed seed."""

    def build(items=40, **wanted):
        fields = {"rated": 4, "epsilon": 1.0, "theta": 1.0, "seed": SEED}
        return new_campaign(list(range(items)), **(fields | wanted))

    return build
