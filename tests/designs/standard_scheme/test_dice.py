"""Draws from the account's secret."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from scipy.stats import chisquare

from tacit.designs.standard_scheme.dice import secret_dice

SECRET = bytes(range(32))


def test_words_are_what_is_written():
    """Word n of an item is HMAC-SHA256 of the canonical JSON under the root; no more is in it."""
    root = hmac.digest(SECRET, b"tacit standard scheme 2\0", hashlib.sha256)
    draw = secret_dice(SECRET)("é")
    for number in range(3):
        asked = f'{{"draw":{number},"item":"é"}}'.encode()
        word = int.from_bytes(hmac.digest(root, asked, hashlib.sha256)[:8], "big")
        assert draw(1_000_000) == word % 1_000_000


def test_the_order_of_items_does_not_matter():
    """An item's draws are its own, whatever was drawn for others before or in between."""
    dice = secret_dice(SECRET)
    one, other = dice(1), dice("1")
    mixed = [(one(100), other(100)) for _ in range(5)]
    alone = [secret_dice(SECRET)(1), secret_dice(SECRET)("1")]
    assert mixed == [(alone[0](100), alone[1](100)) for _ in range(5)]
    assert mixed[0] != mixed[1]


def test_draws_are_uniform():
    """Over 20,000 items the first die's tenths are equally frequent (false alarm 1e-6)."""
    dice = secret_dice(SECRET)
    counts = [0] * 10
    for item in range(20_000):
        counts[dice(item)(1_000_000) // 100_000] += 1
    assert chisquare(counts).pvalue > 1e-6


def test_another_secret_is_another_draw():
    """Two accounts do not share dice."""
    draws = [secret_dice(secret)("a")(1 << 40) for secret in (SECRET, bytes(32))]
    assert draws[0] != draws[1]


def test_a_short_secret_is_refused():
    """31 bytes are too few."""
    with pytest.raises(ValueError, match="at least 32 bytes"):
        secret_dice(bytes(31))
