"""Curves are shown as they were measured, checked when the deployment is read."""

from __future__ import annotations

import copy
import json

import pytest

from tacit.errors import ConfigError
from tacit.service.models import read_curves

CURVE = {
    "title": "Error",
    "x": "epsilon",
    "y": "MAE",
    "unit": "stars",
    "points": [
        {"epsilon": 0.5, "value": 1.0, "low": 0.9, "high": 1.1},
        {"epsilon": 1, "value": 0.8, "low": 0.8, "high": 0.8},
    ],
    "non_private": 0.7,
    "made_with": "a test",
}


def written(folder, content):
    path = folder / "curves.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def changed(place, value):
    made = [copy.deepcopy(CURVE)]
    inside = made
    for part in place[:-1]:
        inside = inside[part]
    inside[place[-1]] = value
    return made


@pytest.mark.parametrize("role", ["operator", "analyst"])
def test_they_are_those_of_the_file(shared_shop, role):
    """What is shown is what the file holds, number by number."""
    told = shared_shop.get(role, "/api/curves").json()["curves"]
    assert {one["model"] for one in told} == {"films"}
    file = json.loads((shared_shop.folder / "curves.json").read_text())
    assert [one["curve"] for one in told] == file


@pytest.mark.parametrize(
    ("role", "status"), [(None, 401), ("subject", 403), ("auditor", 403), ("vendor", 403)]
)
def test_others_do_not_see_them(shared_shop, role, status):
    """Curves are for the operator and analysts."""
    assert shared_shop.get(role, "/api/curves").status_code == status


def test_the_demonstration_measured_them(demo):
    """The demonstration's curves fall to the value without privacy: they were not typed in."""
    error, quality = read_curves(demo.folder / "curves.json")
    for curve, better in ((error, -1), (quality, 1)):
        gains = [better * point.value for point in curve.points]
        assert gains[-1] > gains[0]
        assert better * curve.non_private > gains[0]
        assert all(point.low < point.value < point.high for point in curve.points)
    assert [point.epsilon for point in error.points] == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_a_good_file_is_read(tmp_path):
    """A file as it is described is read as it stands."""
    (curve,) = read_curves(written(tmp_path, [CURVE]))
    assert json.loads(curve.model_dump_json()) == CURVE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ('[{"title": 1, "title": 2}]', "a key twice"),
        ("[NaN]", "numbers are finite"),
        ({}, "the list"),
        ([CURVE] * 51, "the list"),
        (changed((0, "title"), ""), "0.title"),
        (changed((0, "title"), 3), "0.title"),
        (changed((0, "more"), 3), "0.more"),
        (changed((0, "points"), []), "0.points"),
        (changed((0, "points", 0, "epsilon"), 0), "0.points.0.epsilon"),
        (changed((0, "points", 0, "epsilon"), "1"), "0.points.0.epsilon"),
        (changed((0, "points", 0, "low"), 1.5), "within its interval"),
        (changed((0, "points", 1, "epsilon"), 0.5), "epsilons rise"),
        (changed((0, "non_private"), None), "0.non_private"),
        (" " * (1 << 20) + "[]", "too large"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path, content, said):
    """Whatever does not fit is told with its place, before anything is served."""
    with pytest.raises(ConfigError, match=said):
        read_curves(written(tmp_path, content))
