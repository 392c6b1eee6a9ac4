"""Fixtures that every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# A shared machine stalls now and then: time is measured in benchmarks, not here.
hypothesis.settings.register_profile("tacit", deadline=None, print_blob=True)
hypothesis.settings.load_profile("tacit")


@pytest.fixture(scope="session")
def ml_100k() -> Path:
    """The MovieLens 100K folder, under TACIT_DATA."""
    return _real_data("ml-100k")


@pytest.fixture(scope="session")
def ml_latest_small() -> Path:
    """The small current MovieLens folder, under TACIT_DATA."""
    return _real_data("ml-latest-small")


def _real_data(name: str) -> Path:
    root = os.environ.get("TACIT_DATA")
    if not root:
        pytest.skip("real data: TACIT_DATA is not set")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.skip(f"real data: TACIT_DATA holds no {name}")
    return folder
