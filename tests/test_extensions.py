"""The metric, the attacker and the data set in examples/ are found, used, and pass their suites."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from tacit import DataError, extensions, load
from tacit.cli.app import main
from tacit.errors import ConfigError
from tacit.testing import AttackerConformance, DatasetConformance, MetricConformance

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The entry points that the examples declare, as if pip had installed them."""
    found = []
    for folder in ("an_attacker", "a_metric", "a_data_set"):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))
        declared = tomllib.loads((EXAMPLES / folder / "pyproject.toml").read_text("utf-8"))
        for group, entries in declared["project"]["entry-points"].items():
            found += [EntryPoint(name, value, group) for name, value in entries.items()]
    monkeypatch.setattr(
        extensions, "entry_points", lambda group: [each for each in found if each.group == group]
    )
    return found


def loaded(group):
    (entry,) = extensions.find_entry_points(group).values()
    return entry.load()


class TestTheAttacker(AttackerConformance):
    def make(self):
        return loaded(extensions.ATTACKERS)()


class TestTheMetric(MetricConformance):
    def make(self):
        return loaded(extensions.METRICS)


class TestTheDataSet(DatasetConformance):
    def make(self):
        return loaded(extensions.DATASETS)()


def test_a_comparison_has_the_metric_of_the_installed_data_set(capsys):
    """The data set is named in place of a file; popularity lists most popular items."""
    words = ["compare", "two-tastes", "--design", "private", "--epsilon", "1", "--seeds", "2"]
    assert main([*words, "--workers", "1", "--no-attacks", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    shares = {row["design"]: row["value"] for row in rows if row["metric"] == "popular-share"}
    assert shares["popularity"] == max(shares.values())
    assert all(0 <= share <= 1 for share in shares.values())


def test_the_example_of_a_model_is_compared_and_attacked(capsys):
    """On the installed data set, with the installed metric, and by the installed attacker."""
    home = f"{EXAMPLES / 'a_model' / 'cosine.py'}:Cosine"
    words = ["compare", "two-tastes", "--design", "private", "--epsilon", "1", "--seeds", "2"]
    assert main([*words, "--model", home, "--workers", "1", "--no-attacks", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert "popular-share" in {row["metric"] for row in rows if row["design"] == "Cosine"}
    asked = ["--attack", "membership", "--targets", "10", "--shadows", "4", "--victims", "2"]
    assert main(["attack", "--model", home, "two-tastes", *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "Cosine"


def test_an_installed_data_set_takes_no_columns():
    """It knows its own."""
    with pytest.raises(DataError, match=r"names its own columns.*found 'user'"):
        load("two-tastes", user="person")


def test_what_gives_no_ratings_is_refused(monkeypatch):
    """An entry point that names something else."""
    entry = EntryPoint("wrong", "builtins:dict", extensions.DATASETS)
    monkeypatch.setattr(extensions, "entry_points", lambda group: [entry])
    with pytest.raises(DataError, match=r"gives no ratings; found 'dict'"):
        load("wrong")


def test_a_name_cannot_be_taken_twice(installed):
    """Two packages with one name: neither is used in silence."""
    installed.append(EntryPoint("popular-share", "json:dumps", extensions.METRICS))
    with pytest.raises(ConfigError, match="a name that is taken"):
        extensions.find_entry_points(extensions.METRICS)


class Careless(MetricConformance):
    """Divides by the number of listed items, and sorts the lists of others."""

    def make(self):
        def share(lists, relevant, train):
            lists.sort(axis=1)
            return np.float64((lists > 5).sum()) / (lists >= 0).sum()

        return share


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("claim", ["lists_that_end_early_have_a_value", "arguments_stay_unchanged"])
def test_the_suite_catches_a_careless_metric(claim):
    """The planted faults are found."""
    with pytest.raises(AssertionError):
        getattr(Careless(), f"test_{claim}")()


def test_installed_packages_are_read_once(monkeypatch, tmp_path):
    """Asked again, nothing is read; another search path is read anew."""
    reads = []

    def read(group):
        reads.append(group)
        return []

    monkeypatch.setattr(extensions, "entry_points", read)
    for _ in range(3):
        assert extensions.find_entry_points(extensions.METRICS) == {}
    assert reads == [extensions.METRICS]
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.find_entry_points(extensions.METRICS)
    assert len(reads) == 2
