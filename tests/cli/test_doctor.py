"""`tacit doctor` finds what is wrong and says what to do."""

from __future__ import annotations

import json

import pytest

from tacit import randomness
from tacit.cli import doctor
from tacit.cli.app import main
from tacit.engine import ridge


def by_name():
    return {check.name: check for check in doctor.examine()}


def test_nothing_fails_here():
    """On a machine that can run the tests, nothing fails."""
    assert [check for check in doctor.examine() if check.state == "fail"] == []


def test_json_is_pure(capsys):
    """`doctor --json` prints one object and exits with 0."""
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["healthy"] is True
    assert {"name", "state", "found", "advice"} == set(report["checks"][0])


def test_missing_package(monkeypatch, capsys):
    """A missing package fails with the line that installs it, and exits with 1."""
    present = doctor.version_of
    monkeypatch.setattr(
        doctor, "version_of", lambda name: None if name == "rich" else present(name)
    )
    assert by_name()["packages"].state == "fail"
    assert "pip install tacit-rec" in by_name()["packages"].advice
    assert main(["doctor"]) == 1


def test_a_missing_extra_is_named(monkeypatch):
    """An optional part that lacks a package is no failure; the package and the line are shown."""
    present = doctor.version_of
    monkeypatch.setattr(
        doctor, "version_of", lambda name: None if name == "altair" else present(name)
    )
    found = by_name()["extras"]
    assert found.state == "ok"
    assert "plots (missing: altair)" in found.advice
    assert "pip install 'tacit-rec[" in found.advice
    assert "plots" not in found.found.split(", ")


def test_repeating_randomness(monkeypatch):
    """A generator that repeats itself fails."""

    class Stuck(randomness.SecureSource):
        def words(self, count):
            return super().words(count) * 0

    monkeypatch.setattr(randomness, "secure", Stuck)
    assert by_name()["randomness"].state == "fail"


def test_wrong_kernel(monkeypatch):
    """A compiled kernel that miscomputes fails."""
    monkeypatch.setattr(ridge, "solve", lambda ratings, factors, penalty: factors[:1])
    assert by_name()["kernel"].state == "fail"


def test_a_check_that_breaks_is_a_finding(monkeypatch):
    """An exception inside one check is reported in its line; the others still run."""

    def broken(*_):
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(ridge, "solve", broken)
    checks = by_name()
    assert "cannot cache function" in checks["kernel"].found
    assert checks["python"].state == "ok"


@pytest.mark.parametrize(("version", "state"), [((3, 10), "fail"), ((3, 12), "ok")])
def test_python_version(monkeypatch, version, state):
    """Only the supported versions of Python pass."""
    monkeypatch.setattr(doctor.sys, "version_info", (*version, 0))
    assert doctor.python().state == state
