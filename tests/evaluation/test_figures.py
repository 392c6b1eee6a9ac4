"""Plots need packages that a plain install does not have: it is said before the work begins."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tacit.cli.app import main
from tacit.designs.pdap.experiment.commands import PACKAGES as PDAP_PACKAGES
from tacit.errors import MissingExtra
from tacit.evaluation.figures import check_plots
from tacit.evaluation.manifest import PACKAGES


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    """Each of the two that draw; with both there is nothing to say."""
    check_plots()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"'{package}'.*tacit-rec\[plots\]"):
        check_plots()


def test_a_report_is_refused_before_anything_is_computed(monkeypatch, tmp_path, capsys):
    """The command ends with the line that installs it, writes nothing, and never reads the file."""
    ratings = tmp_path / "never-read.csv"
    report = tmp_path / "report.html"
    monkeypatch.setitem(sys.modules, "altair", None)
    code = main(["compare", str(ratings), "--report", str(report)])
    assert code == MissingExtra.exit_code
    assert "tacit-rec[plots]" in "".join(capsys.readouterr().err.split())
    assert not report.exists()


def test_without_a_report_the_packages_are_not_asked_for(monkeypatch, tmp_path, capsys):
    """The same command goes on to the file, which is not there."""
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["compare", str(tmp_path / "missing.csv")]) != MissingExtra.exit_code
    assert "missing.csv" in capsys.readouterr().err


def test_a_manifest_names_only_packages_of_a_plain_install():
    """A report or an answer states versions; a package of an extra may not be there."""
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    plain = {re.split(r"[<>=\[;! ]", line)[0] for line in project["dependencies"]}
    assert plain
    for packages in (PACKAGES, PDAP_PACKAGES):
        assert set(packages) <= plain | {"tacit-rec"}
