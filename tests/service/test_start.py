"""What a service says when it starts: settings that no longer fit what was kept under them."""

from __future__ import annotations

import importlib

import pytest

from tacit.errors import ConfigError, MissingExtra
from tacit.service import Settings, open_service, required_packages

FILMS = "/api/rounds/films"


@pytest.fixture
def begun(demo, folder, shops):
    """A folder whose run of p-REC began, and was closed again."""
    with shops(demo, folder) as shop:
        assert shop.post("operator", f"{FILMS}/open", json={}).status_code == 200
    return folder


def change(folder, old: str, new: str) -> None:
    toml = folder / "tacit.toml"
    assert toml.read_text().count(old) == 1
    toml.write_text(toml.read_text().replace(old, new))


def test_a_run_with_other_settings(begun):
    """A run that began is refused under other settings of equal cost: which, and what to do."""
    change(begun, "voters = 1000", "voters = 1001")
    with pytest.raises(ConfigError) as told:
        open_service(Settings(begun))
    for part in ("tacit.toml", "rounds.films", "(voters)", "give the new run another name"):
        assert part in str(told.value)


def test_a_run_anew(begun):
    """The same settings go on, and other ones begin under another name."""
    open_service(Settings(begun)).close()
    change(begun, "[rounds.films]", "[rounds.more]")
    change(begun, "voters = 1000", "voters = 1001")
    open_service(Settings(begun)).close()


def test_a_run_that_cannot_be_gone_on_from(begun, monkeypatch):
    """Stored gates that do not keep to the settings are told at the start as well."""
    curator, settings = "tacit.designs.prec.curator.Curator", "tacit.designs.prec.settings"
    monkeypatch.setattr(f"{curator}._gate_parameters", lambda _: (1, 2, 3.0))
    monkeypatch.setattr(f"{settings}.PRecSettings.plan_of_gate", lambda _settings, *_gate: None)
    with pytest.raises(ConfigError, match=r"rounds\.films cannot be continued"):
        open_service(Settings(begun))


def test_a_budget_with_another_cap(demo, folder):
    """Other settings of another cost are told with the budget that they would have changed."""
    open_service(Settings(folder)).close()
    change(folder, "\nepsilon = 20\n", "\nepsilon = 21\n")
    with pytest.raises(ConfigError) as told:
        open_service(Settings(folder))
    for part in ("tacit.toml", "rounds-films", "for life", "rename its section"):
        assert part in str(told.value)


def test_the_missing_package_is_named(monkeypatch):
    """Without a package that the service needs, the error names this package."""
    found = {"fastapi": object(), "sqlalchemy": None}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    with pytest.raises(MissingExtra, match="'sqlalchemy'"):
        importlib.reload(required_packages)
