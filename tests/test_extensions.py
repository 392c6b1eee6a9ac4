"""The metric, the attacker and the data set in examples/ are found, used, and pass their suites."""

from __future__ import annotations

import json
import shutil
import sys
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


def _register(folder, group):
    """Describe a package in a folder, with one entry point, as pip does."""
    described = folder / "a_package-1.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: a-package\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[{group}]\nwide = a_package:wide\n")


@pytest.mark.parametrize("is_archive", [False, True])
@pytest.mark.parametrize("group", [extensions.METRICS, extensions.DESIGNS])
def test_a_registered_package_is_found(monkeypatch, tmp_path, group, is_archive):
    """In a folder and in an archive of the search path; in no group but its own."""
    _register(tmp_path / "packages", group)
    place = tmp_path / "packages"
    if is_archive:
        place = Path(shutil.make_archive(str(tmp_path / "packages"), "zip", place))
    monkeypatch.undo()  # the real reader, not the one of `installed`
    monkeypatch.syspath_prepend(str(place))
    for each in (extensions.METRICS, extensions.DESIGNS, extensions.ATTACKERS):
        assert ("wide" in extensions.find_entry_points(each)) == (each == group)


def test_a_finder_of_packages_is_asked(monkeypatch):
    """One that another package adds, which may look anywhere."""

    class Finder:
        def find_spec(self, name, path=None, target=None):
            return None

        def find_distributions(self, context):
            asked.append(context)
            return ()

    asked = []
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [])
    assert list(extensions.entry_points(group=extensions.METRICS)) == []
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert list(extensions.entry_points(group=extensions.METRICS)) == []
    assert asked


def test_a_place_that_cannot_be_looked_at_is_passed_over(monkeypatch, tmp_path):
    """As by the standard library's reader; later places are still searched."""
    _register(tmp_path, extensions.METRICS)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", ["a" * 300, str(tmp_path), *sys.path])
    assert "wide" in extensions.find_entry_points(extensions.METRICS)
