"""What the device's parser of JSON refuses."""

from __future__ import annotations

import pytest

from tacit.client.strict_json import read_json


@pytest.mark.parametrize("data", [b"1e999", b"-1e400", b'{"stars": [1e309]}', b"NaN", b"-Infinity"])
def test_numbers_are_finite(data):
    """A number that no float can hold is refused, as infinity is."""
    with pytest.raises(ValueError, match="number"):
        read_json(data)


def test_keys_occur_once():
    """Two parsers could take another one of two equal keys."""
    with pytest.raises(ValueError, match="twice"):
        read_json(b'{"a": 1, "a": 2}')


def test_other_numbers_are_read():
    """Small and large numbers that a float holds are read as they are."""
    assert read_json(b"[1e308, -2.5, 1e-400, 12]") == [1e308, -2.5, 0.0, 12]
