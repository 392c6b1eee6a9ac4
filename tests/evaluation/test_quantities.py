"""Paths that name quantities in the JSON of a command."""

from __future__ import annotations

import pytest

from tacit.errors import ConfigError
from tacit.evaluation.quantities import find_quantities, shows_something

DOCUMENT = {
    "loss": {"mean": 2.5, "by seed": [1, 4]},
    "rows": [
        {"policy": "dap", "epsilon": None, "accuracy": 0.9, "test": True},
        {"policy": "p-dap", "epsilon": 0.01, "accuracy": 0.8, "test": False},
        {"policy": "p-dap", "epsilon": 1.0, "accuracy": 0.85, "test": True},
    ],
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("loss.mean", {"loss.mean": 2.5}),
        ("loss.by seed[1]", {"loss.by seed[1]": 4}),
        ("loss.*", {"loss.mean": 2.5, "loss.by seed": [1, 4]}),
        ("rows[].accuracy", {f"rows[{n}].accuracy": v for n, v in enumerate((0.9, 0.8, 0.85))}),
        ("rows[policy=dap].accuracy", {"rows[0].accuracy": 0.9}),
        ("rows[policy=p-dap,epsilon=0.01].accuracy", {"rows[1].accuracy": 0.8}),
        ("rows[policy=p-dap,epsilon=1].test", {"rows[2].test": True}),
        ("rows[test=false].policy", {"rows[1].policy": "p-dap"}),
        ("rows[policy=cap].accuracy", {}),
        ("rows[].regret", {}),
        ("loss.mean.low", {}),
        ("loss[0]", {}),
        ("rows[7]", {}),
    ],
)
def test_a_path_finds_its_values(path, values):
    """By keys, by number, by the values beside them; nothing where nothing is."""
    assert find_quantities(DOCUMENT, path) == values


def test_the_empty_path_is_the_document():
    """Steps are taken from the whole."""
    assert find_quantities(DOCUMENT, "") == {"": DOCUMENT}


def test_a_list_at_the_top_is_entered():
    """A path may begin with a selector."""
    assert find_quantities([3, 4], "[1]") == {"[1]": 4}


@pytest.mark.parametrize("path", ["rows[", "a]b", "rows[0]x"])
def test_a_broken_path_is_refused(path):
    """With the path and the place."""
    with pytest.raises(ConfigError, match="cannot be read from its character"):
        find_quantities(DOCUMENT, path)


@pytest.mark.parametrize("value", [0, 0.0, False, True, "no", [0], {"a": None}, float("inf")])
def test_values_are_something(value):
    """Zero and no are figures."""
    assert shows_something(value)


@pytest.mark.parametrize("value", [None, [], {}, "", float("nan")])
def test_empty_values_are_nothing(value):
    """Null stands for a figure that was not computed."""
    assert not shows_something(value)
