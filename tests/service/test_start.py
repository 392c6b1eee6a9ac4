"""What a service says when it starts: settings that no longer fit what was kept under them."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.serve.rounds import ServedRounds
from tacit.designs.prec.serve.steps import RoundsState
from tacit.errors import ConfigError, MissingExtra
from tacit.ledger import Holder
from tacit.randomness import secure
from tacit.service import Settings, open_service, required_packages
from tacit.service.idempotency import remove_salt

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


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("voters = 1000", "voters = 1001", "(voters)"),
        ("\nepsilon = 20\n", "\nepsilon = 21\n", "(epsilon)"),
    ],
)
def test_a_run_with_other_settings(begun, old, new, name):
    """A run that began is refused under other settings of any cost: which, and what to do."""
    change(begun, old, new)
    with pytest.raises(ConfigError) as told:
        open_service(Settings(begun))
    for part in ("tacit.toml", "rounds.films", name, "give the new run another name"):
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


def scale_bound_of_rounds(monkeypatch, factor: float) -> None:
    """Compute another epsilon of rounds, as another version of tacit may."""
    bound = PRecSettings.rounds_epsilon

    def changed_bound(settings, *sizes):
        epsilon, basis = bound(settings, *sizes)
        return epsilon * factor, basis

    monkeypatch.setattr(PRecSettings, "rounds_epsilon", changed_bound)


def stored_run(service) -> PRec:
    """Read the stored run, with the plan that it began with."""
    state = RoundsState.decode(remove_salt(service.read_state("rounds/films")))
    settings = service.deployment.find(ServedRounds, "films").settings
    return PRec.from_bytes(state.run, settings=settings, randomness=secure())


def test_a_run_of_another_plan_goes_on(demo, begun, shops, monkeypatch):
    """If another version divides epsilon otherwise, a run keeps its gates, cards and budget."""
    holder = Holder.dataset("demo", "rounds-films")
    with shops(demo, begun) as shop:
        old_plan = stored_run(shop.service).plan
        old_balance = shop.service.ledger.balance(holder)
    scale_bound_of_rounds(monkeypatch, 0.9)
    with shops(demo, begun) as shop:
        run = stored_run(shop.service)
        served = shop.service.deployment.find(ServedRounds, "films")
        assert run.plan.peers == old_plan.peers
        assert run.plan.gate_epsilon != served.settings.plan.gate_epsilon
        for own, card in zip(run.guarantees(), served.guarantees(), strict=True):
            assert replace(card, assumptions=own.assumptions) == own
        assert served.guarantees()[0].epsilon == run.plan.epsilon
        assert set(shop.service.deployment.cards["rounds/films"]) == set(served.guarantees())
        (described,) = shop.get(None, "/api/rounds").json()["rounds"]
        assert described["guarantee"] == run.guarantees()[0].sentence
        assert shop.post("operator", f"{FILMS}/open", json={}).json()["round"] == 2
        assert shop.post("subject", f"{FILMS}/recommendations").status_code == 200
        assert shop.service.ledger.balance(holder) == old_balance


def test_a_run_that_costs_more_than_its_budget(begun, monkeypatch):
    """Gates that keep to the settings, but cost more than was charged, are told with both costs."""
    plan_of_gate = PRecSettings.plan_of_gate

    def costlier_plan(settings, *gate):
        plan = plan_of_gate(settings, *gate)
        return replace(plan, delta=1.5 * settings.delta / settings.clients_together)

    scale_bound_of_rounds(monkeypatch, 0.9)
    monkeypatch.setattr(PRecSettings, "plan_of_gate", costlier_plan)
    costs = r"costs epsilon \S+ and delta 1\.5\S*e-05, more than the epsilon \S+ and delta 9\S+"
    with pytest.raises(ConfigError, match=rf"rounds\.films.*{costs} of its budget"):
        open_service(Settings(begun))


def test_a_run_whose_delta_reaches_one(begun, monkeypatch):
    """Where no card for all clients is left, the error says so."""
    plan_of_gate = PRecSettings.plan_of_gate

    def useless_plan(settings, *gate):
        return replace(plan_of_gate(settings, *gate), delta=0.5)

    scale_bound_of_rounds(monkeypatch, 0.9)
    monkeypatch.setattr(PRecSettings, "plan_of_gate", useless_plan)
    with pytest.raises(ConfigError, match=r"rounds\.films has 20 clients.*delta reaches 1"):
        open_service(Settings(begun))


def test_a_budget_with_another_cap(demo, folder):
    """Other settings of another cost are told with the budget that they would have changed."""
    open_service(Settings(folder)).close()
    change(folder, "\nepsilon = 20\n", "\nepsilon = 21\n")
    with pytest.raises(ConfigError) as told:
        open_service(Settings(folder))
    for part in ("tacit.toml", "rounds-films", "for life", "the version", "rename its section"):
        assert part in str(told.value)


def test_the_missing_package_is_named(monkeypatch):
    """Without a package that the service needs, the error names this package."""
    found = {"fastapi": object(), "sqlalchemy": None}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    with pytest.raises(MissingExtra, match="'sqlalchemy'"):
        importlib.reload(required_packages)
