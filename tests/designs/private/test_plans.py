"""Plans of fits: one budget, one map, sums that add up."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tacit import Private, load_model
from tacit.data.domains import on_catalogue
from tacit.data.synthetic import generate
from tacit.designs.private import Account
from tacit.errors import ConfigError, PrivacyError
from tacit.ledger import Holder, open_ledger
from tacit.mechanisms import samplers
from tacit.profile_sums.plan_state import PopularState, TasteState
from tacit.profile_sums.sums.counts import counts_mechanism

LIFETIME = 8.0
FITS = 4


@pytest.fixture(scope="module")
def people():
    """People enough for tastes at the first share of the lifetime."""
    return generate(users=600, items=60, ratings=18_000, labels=6, seed=3)


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "budgets.db") as opened:
        yield opened


def spent(ledger) -> int:
    return ledger.balance(Holder.dataset("tacit", "ratings")).spent


def save(model, path):
    model.save(path)
    return path


def test_all_fits_of_a_plan(people, tmp_path):
    """Every card promises the whole plan from the first day, and so many fits are made, no more."""
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people)
    (first,) = model.guarantees()
    assert "all 4 fits of the plan" in first.sentence
    assert first.lifetime.startswith("all 4 fits of the plan")
    assert 0.98 * LIFETIME < first.epsilon <= LIFETIME
    for further in (2, 1, 0):
        path = save(model, tmp_path / "m.tacit")
        model = Private(previous=path).fit(people)
        assert model.budget_status_.further == further
        assert model.guarantees()[0].epsilon == pytest.approx(first.epsilon, rel=1e-12)
    assert [len(fit.noises) for fit in model.releases_] == [4, 2, 2, 2]
    with pytest.raises(PrivacyError, match="All 4 fits of the plan are spent"):
        Private(previous=model).fit(people)


def test_later_fits_draw_two_sums_and_keep_the_map(people, monkeypatch):
    """Sums 1 and 3 with the plan's noise; directions and damping stay, item tastes change."""
    first = Private(lifetime=LIFETIME, fits=FITS, mode="taste").fit(people)
    asked = []

    def sampler(values, sigma, original=samplers.discrete_gaussian):
        asked.append((values.shape, sigma))
        return original(values, sigma)

    monkeypatch.setattr(samplers, "discrete_gaussian", sampler)
    second = Private(previous=first, mode="taste").fit(people)
    assert isinstance(second.fitted_.plan.later, TasteState)
    old, new = first.released_.personal, second.released_.personal
    assert (old.directions == new.directions).all()
    assert (old.centre.damping == new.centre.damping).all()
    assert not (old.items == new.items).any()
    k = old.directions.shape[1]
    assert [shape for shape, _ in asked] == [(61, 1), (61, k + 1)]
    noises = second.releases_[-1].noises
    assert asked[0][1] == pytest.approx(noises[0] * 4096, rel=1e-6)


def test_draws_add_up(people):
    """After four fits the counts are more exact than after one: below two thirds of the error.

    False alarm below 1e-6: the ratio of deviations is .65, of means over 60 items.
    """
    exact = Private(float("inf")).fit(people).released_.means
    model = Private(lifetime=2.0, fits=FITS, mode="taste").fit(people)
    first = model.fitted_.plan.counts.people
    for _ in range(FITS - 1):
        model = Private(previous=model, mode="taste").fit(people)
    last = model.fitted_.plan.counts.people
    assert first.noise_factor == pytest.approx(1 / np.sqrt(0.5))
    assert last.noise_factor == pytest.approx(1 / np.sqrt(0.5 + 3 * 4 * (0.5 / 3) / 3))
    assert model.released_.deviation < 0.66 * exact.max()


def test_an_object_continues_its_own_plan(people):
    """The same object is fitted again: the next fit of its plan."""
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people)
    assert model.fit(people).budget_status_.further == FITS - 2


def test_a_state_survives_its_file(people, tmp_path):
    """Scores, cards and the next fit's start are those of the model before it was saved."""
    for mode in ("taste", "auto"):
        model = Private(lifetime=LIFETIME, fits=FITS, mode=mode).fit(people)
        loaded = load_model(save(model, tmp_path / "m.tacit"))
        assert loaded.guarantees() == model.guarantees()
        before, after = model.fitted_.plan, loaded.fitted_.plan
        assert (before.counts.values == after.counts.values).all()
        assert before.plan == after.plan
        assert type(before.later) is type(after.later)
        items = model.item_ids_.tolist()
        history = {items[0]: 5.0, items[7]: 5.0}
        scores = model.predict(items, history=history)
        assert loaded.predict(items, history=history) == pytest.approx(scores, abs=1e-12)


def test_popularity_mode_counts_its_head_at_every_fit(people):
    """The gate is not asked again: later fits ask the counts of the first one's head."""
    few = people.of_users(np.arange(150))
    model = Private(lifetime=0.5, fits=FITS).fit(few)
    assert model.released_.mode == "popularity"
    assert isinstance(model.fitted_.plan.later, PopularState)
    head = model.fitted_.plan.later.head
    model = Private(previous=model).fit(people)
    assert model.released_.mode == "popularity"
    assert (model.fitted_.plan.later.head == head).all()
    assert model.fitted_.plan.later.table.weight == pytest.approx(0.75 + 4 * (0.5 / 3) / 3)


def test_too_few_people_at_first_are_counted_twice_later(people):
    """Nothing but counts is asked; both events ask them.

    At so long a lifetime the number of people has a deviation below 4: that 5 people seem to be
    more than 50 has a chance below 1e-20.
    """
    model = Private(lifetime=30.0, fits=FITS).fit(people.of_users(np.arange(5)))
    mechanism = counts_mechanism(61, model.releases_[0].noises[0])
    assert mechanism.deviation / model.settings_.presence < 4
    assert model.fitted_.plan.later is None
    model = Private(previous=model).fit(people)
    assert model.released_.mode == "popularity"
    assert model.fitted_.plan.counts.people.weight == pytest.approx(0.5 + 4 * 0.5 / 3)


def test_no_fit_of_a_plan_asks_for_pairs(people):
    """At a lifetime that leaves the first fit noise so small that a single release asks."""
    single = Private(1000.0).fit(people)
    assert single.released_.has_pairs
    model = Private(lifetime=3000.0, fits=FITS).fit(people)
    effective_population = model.released_.usefulness.effective_population
    assert effective_population > single.released_.usefulness.effective_population
    assert model.released_.mode == "taste"
    assert not model.released_.has_pairs
    assert not Private(previous=model).fit(people).released_.has_pairs


def catalogue_without(people, left_out):
    """Rows and metadata without some items."""
    ids = people.item_ids.tolist()
    genres = dict(zip(ids, people.item_metadata["genres"].tolist(), strict=True))
    kept = {item: genre for item, genre in genres.items() if item not in left_out}
    return on_catalogue(people, dict.fromkeys(kept), metadata={"genres": kept})


def test_items_come_and_go(people):
    """A new item is served from its first fit on; one that left is not, and comes back."""
    ids = people.item_ids.tolist()
    model = Private(lifetime=LIFETIME, fits=FITS, mode="taste")
    model.fit(catalogue_without(people, ids[:3]))
    assert ids[0] not in model.item_ids_.tolist()
    model = Private(previous=model, mode="taste").fit(catalogue_without(people, ids[-2:]))
    served = model.item_ids_.tolist()
    assert ids[0] in served
    assert ids[-1] not in served
    assert len(model.fitted_.plan.item_ids) == 60
    plan, place = model.fitted_.plan, ids.index(ids[0])
    assert plan.counts.weights[place] < plan.counts.weights[-1]
    assert model.predict(ids[:1], history={ids[5]: 5.0}) == pytest.approx(
        model.predict(ids[:1], history={ids[5]: 5.0})
    )
    model = Private(previous=model, mode="taste").fit(people)
    assert model.item_ids_.tolist() == ids


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fits": 4}, "lifetime"),
        ({"fits": 1, "lifetime": 1.0}, "2 to 10,000 fits"),
        ({"fits": 4, "lifetime": 1.0, "stars": True}, "neither stars nor top items"),
        ({"fits": 4, "lifetime": 1.0, "mode": "top-items"}, "neither stars nor top items"),
        ({"fits": 4, "lifetime": 1.0, "features": ()}, "needs item metadata"),
    ],
)
def test_what_has_no_place_in_a_plan(people, settings, said):
    """Refused before anything is drawn."""
    with pytest.raises(ConfigError, match=said):
        Private(**settings).fit(people)


def test_other_options_are_refused(people):
    """A later fit asks what the first one asked."""
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people)
    with pytest.raises(ConfigError, match="options of its first one"):
        Private(previous=model, like_at=5.0).fit(people)


def test_a_ledger_pays_exactly_the_plan(people, ledger, tmp_path):
    """Four charges, which add up to the cap but for less than a step each; the next is refused."""
    account = Account(ledger)
    path = tmp_path / "m.tacit"
    save(Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account), path)
    for _ in range(FITS - 1):
        save(Private(previous=path).fit(people, account=account), path)
    cap = ledger.balance(Holder.dataset("tacit", "ratings")).cap.amount
    assert cap - FITS < spent(ledger) <= cap
    with pytest.raises(PrivacyError, match="are spent"):
        Private(previous=path).fit(people, account=account)


def test_a_state_restored_draws_nothing_twice(people, ledger, tmp_path):
    """A copy of an older state gets the stored next fit, or is refused with other options."""
    account = Account(ledger)
    old = save(Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account), tmp_path / "old")
    second = Private(previous=old).fit(people, account=account)
    before = spent(ledger)
    again = Private(previous=old).fit(people.of_users(np.arange(300)), account=account)
    assert again.budget_status_.repeated
    assert (again.released_.means == second.released_.means).all()
    assert spent(ledger) == before
    with pytest.raises(ConfigError, match="holds another fit"):
        Private(previous=old, lifetime=LIFETIME, fits=2).fit(people, account=account)
    assert spent(ledger) == before


def test_a_failed_fit_is_charged_and_counts(people, ledger, tmp_path, monkeypatch):
    """It is one of the plan's; the next one follows with the state before it."""
    account = Account(ledger)
    path = save(Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account), tmp_path / "m")
    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.sums_of_state", lambda *_: 1 / 0)
        with pytest.raises(PrivacyError, match="failed after it was charged"):
            Private(previous=path).fit(people, account=account)
    model = Private(previous=path).fit(people, account=account)
    assert model.budget_status_.further == FITS - 3
    assert [fit.failed for fit in model.releases_] == [False, True, False]
    assert model.fitted_.plan.counts.people.weight == pytest.approx(0.5 + 4 * (0.5 / 3) / 3)


def test_a_first_fit_that_fails_leaves_a_plan_of_the_rest(people, ledger, monkeypatch):
    """Half of the lifetime is spent; a new plan shares out the other half."""
    account = Account(ledger)
    with monkeypatch.context() as broken:
        broken.setattr("tacit.profile_sums.fitted_lists.make_lists", lambda *_: 1 / 0)
        with pytest.raises(PrivacyError, match="failed after it was charged"):
            Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account)
    half = spent(ledger)
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account)
    cap = ledger.balance(Holder.dataset("tacit", "ratings")).cap.amount
    assert half == pytest.approx(cap / 2, rel=1e-3)
    assert spent(ledger) == pytest.approx(0.75 * cap, rel=1e-3)
    (card,) = model.guarantees()
    assert card.epsilon <= LIFETIME


@pytest.mark.parametrize("step", ["release_next", "sums_of_state", "keep_items"])
def test_a_killed_process_neither_loses_nor_repeats_a_charge(people, tmp_path, monkeypatch, step):
    """Killed at any step: the ledger's transaction is rolled back, and the fit is asked for again.

    The process is killed for real: a child of this one, by its own hand.
    """
    budgets, path = tmp_path / "budgets.db", tmp_path / "m.tacit"
    with open_ledger(budgets) as opened:
        save(Private(lifetime=LIFETIME, fits=FITS).fit(people, account=Account(opened)), path)
        before = spent(opened)
    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(f"tacit.profile_sums.fitted_lists.{step}", lambda *_: os._exit(9))
            with open_ledger(budgets) as own:
                Private(previous=path).fit(people, account=Account(own))
        finally:
            os._exit(0)  # whatever happened: a child must not go on with the tests
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    with open_ledger(budgets) as opened:
        assert spent(opened) == before
        model = Private(previous=path).fit(people, account=Account(opened))
        assert model.budget_status_.further == FITS - 2
        one_fit = spent(opened) - before
        again = Private(previous=path).fit(people, account=Account(opened))
        assert again.budget_status_.repeated
        assert spent(opened) - before == one_fit


def test_other_ids_of_items_are_refused_before_the_charge(people, ledger):
    """Whole numbers that become texts: nothing is charged, and the plan goes on with old ids."""
    account = Account(ledger)
    genres = dict(
        zip(people.item_ids.tolist(), people.item_metadata["genres"].tolist(), strict=True)
    )
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people, account=account)
    before = spent(ledger)
    texts = {str(item): value for item, value in genres.items()} | {"new": "g"}
    other = on_catalogue(people, dict.fromkeys(texts), metadata={"genres": texts})
    with pytest.raises(ConfigError, match="ids of items"):
        Private(previous=model).fit(other, account=account)
    assert spent(ledger) == before
    assert Private(previous=model).fit(people, account=account).budget_status_.further == FITS - 2


def test_a_failed_fit_names_the_type_of_its_cause(people, ledger, monkeypatch):
    """The operator can mend it; what the error says may hold data, and stays unsaid."""
    monkeypatch.setattr("tacit.profile_sums.fitted_lists.make_lists", lambda *_: {}["ann"])
    with pytest.raises(PrivacyError, match=r"charged \(KeyError\)") as failed:
        Private(lifetime=LIFETIME, fits=FITS).fit(people, account=Account(ledger))
    assert "ann" not in str(failed.value)


def test_a_card_of_several_fits_says_that_each_is_gone_on_from_once(people):
    """Two branches cost more than either card says; sums of all fits are counted."""
    model = Private(lifetime=LIFETIME, fits=FITS).fit(people)
    (card,) = model.guarantees()
    assert any("continued at most once" in line for line in card.assumptions)
    assert any("10 noisy sums" in line for line in card.assumptions)
    (alone,) = Private(1.0).fit(generate(users=50, items=20, ratings=500, seed=1)).guarantees()
    assert not any("continued at most once" in line for line in alone.assumptions)


def test_the_first_fit_of_a_finished_plan_is_given_again(people, ledger):
    """A lost file is had from the ledger by its own command, also when nothing is left to spend."""
    account = Account(ledger)
    first = Private(lifetime=LIFETIME, fits=2).fit(people, account=account)
    Private(previous=first).fit(people, account=account)
    before = spent(ledger)
    again = Private(lifetime=LIFETIME, fits=2).fit(people, account=account)
    assert again.budget_status_.repeated
    assert (again.released_.means == first.released_.means).all()
    assert spent(ledger) == before
