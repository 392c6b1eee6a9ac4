"""Tests that the mutation tool is tried on: one quick, one slow, one with a slow fixture.

They are run by their file's name alone.
"""

from __future__ import annotations

import time

import pytest


def use_processor(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture(scope="module")
def dear_thing() -> None:
    use_processor(0.6)


def test_quick():
    """Takes no time."""


def test_slow():
    """Takes long itself."""
    use_processor(0.6)


@pytest.mark.usefixtures("dear_thing")
def test_dear():
    """Is given what takes long."""


@pytest.mark.usefixtures("dear_thing")
def test_dearer():
    """Is given it, too."""
