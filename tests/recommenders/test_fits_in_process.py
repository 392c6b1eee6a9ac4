"""A second fit of one model or one ratings object is on the card; equal rows change nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from tracked import ROOT

from tacit import Private, StandardScheme, XMap, generate, load_model
from tacit.data.stored_ratings import PublicInputs
from tacit.data.tables.buckets import open_parquet
from tacit.data.tables.folder import write_ratings
from tacit.designs.pdap.model import PDap
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import Basis
from tacit.recommenders.baselines import PrivatePopularity
from tacit.recommenders.fits_in_process import comparison
from tests.support.profile_worlds import make_world

PEOPLE = generate(users=150, items=60, ratings=3600, seed=1)
"""Who consent to train the standard scheme."""


def private():
    return Private(1.0), make_world()


def xmap():
    return XMap(source="s", target="t"), make_world(domains=True)


def popularity():
    return PrivatePopularity(epsilon=1.0), make_world()


def scheme():
    model = StandardScheme(disclosure_epsilon=100.0, service_sees_items=False, factors=2)
    return model, PEOPLE


DESIGNS = [private, xmap, popularity, scheme]
CLONED = [private, xmap, popularity]
"""Those whose parameters scikit-learn copies."""


def spent(model) -> float:
    """Epsilon of the card that has one."""
    (card,) = [card for card in model.guarantees() if card.epsilon is not None]
    return card.epsilon


@pytest.mark.parametrize("design", DESIGNS)
def test_a_second_fit_of_one_object_is_on_its_card(design):
    """The card after two fits of one object states more than after one, and that they are 2."""
    model, ratings = design()
    first = spent(model.fit(ratings))
    assert spent(model.fit(ratings)) > 1.3 * first
    assert any("2 " in card.sentence and "together" in card.sentence for card in model.guarantees())


@pytest.mark.parametrize("design", DESIGNS)
def test_a_second_model_that_is_fitted_to_the_same_ratings_object_counts_the_first(design):
    """Two models and one ratings object: the second card states both fits."""
    first, ratings = design()
    first.fit(ratings)
    second = design()[0]
    assert spent(second.fit(ratings)) > 1.3 * spent(first)


@pytest.mark.parametrize("design", DESIGNS)
def test_rows_are_not_compared(design):
    """A copy of the ratings with every row, and one that lacks a row: one fit on either card.

    If only equal rows were counted, a card would tell whether the ratings had changed.
    """
    first, ratings = design()
    first.fit(ratings)
    is_kept = np.ones(len(ratings), dtype=bool)
    is_kept[5] = False
    for other_ratings in (replace(ratings), ratings.where(is_kept)):
        assert spent(design()[0].fit(other_ratings)) == pytest.approx(spent(first))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_card_says_which_fits_it_counts(design):
    """A fit to ratings that were read again is a separate release, and the card says so."""
    model, ratings = design()
    (card,) = [card for card in model.fit(ratings).guarantees() if card.epsilon is not None]
    (line,) = [line for line in card.not_covered if "on top of what this card states" in line]
    assert "fits of one model object, and the fits to one ratings object in one program" in line


@pytest.mark.parametrize("design", DESIGNS)
def test_what_was_counted_stays_in_the_file(design, tmp_path):
    """A model of two fits is saved and loaded: its card is the same."""
    model, ratings = design()
    model.fit(ratings).fit(ratings)
    model.save(tmp_path / "m.tacit")
    loaded = load_model(tmp_path / "m.tacit")
    assert spent(loaded) == spent(model)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_comparison_counts_each_fit_alone(design):
    """Inside `comparison()` the second card states one fit, and nothing is remembered of it."""
    first, ratings = design()
    with comparison():
        one = spent(first.fit(ratings))
        assert spent(design()[0].fit(ratings)) == pytest.approx(one)
    assert spent(design()[0].fit(ratings)) == pytest.approx(one)


@pytest.mark.parametrize("design", CLONED)
def test_the_card_of_a_clone_says_that_spending_is_unknown(design, tmp_path):
    """A clone made by scikit-learn knows of no fits: its card says so, from a file, too."""
    model, ratings = design()
    copied = clone(model.fit(ratings)).fit(ratings)
    copied.save(tmp_path / "m.tacit")
    for each in (copied, load_model(tmp_path / "m.tacit")):
        (card,) = [card for card in each.guarantees() if card.epsilon is not None]
        assert card.basis is Basis.CONDITIONAL
        assert "unknown, as scikit-learn's clone made this object" in card.sentence
    (card,) = [card for card in model.guarantees() if card.epsilon is not None]
    assert "clone" not in card.sentence


def test_a_clone_of_a_model_with_a_previous_one_keeps_it():
    """The earlier model is handed on as it is, so the clone counts its fits."""
    world = make_world()
    first = Private(1.0).fit(world)
    second = clone(Private(1.0, previous=first)).fit(make_world(seed=9))
    assert second.budget_status_.fits == 2


def test_fits_of_two_designs_of_the_same_sums_add_up():
    """X-Map's sound variant after `Private` on the same ratings object: its card states both."""
    world = make_world(domains=True)
    Private(1.0).fit(world)
    assert spent(XMap(source="s", target="t").fit(world)) > 1.3


def test_a_lifetime_holds_for_all_fits_of_one_ratings_object():
    """Epsilon 1 was spent on them: a lifetime of 1.2 has no room for as much again."""
    world = make_world()
    Private(1.0).fit(world)
    with pytest.raises(PrivacyError, match="2 fits together"):
        Private(1.0, lifetime=1.2).fit(world)


def test_streamed_ratings_are_counted_while_they_are_open(tmp_path):
    """Two fits to one opened file are counted; the file, opened again, is another object."""
    file = tmp_path / "ratings.parquet"
    write_ratings(PEOPLE, file, domains=False)
    epsilons = []
    for fits in (2, 1):
        with open_parquet(file, {}, PublicInputs(), 2**30, events=False) as ratings:
            epsilons += [spent(Private(1.0).fit(ratings)) for _ in range(fits)]
    assert epsilons[1] > 1.3 * epsilons[0]
    assert epsilons[2] == epsilons[0]


def test_two_fits_at_epsilon_1_cost_what_the_documentation_says():
    """README and sharp-edges.md: 1.455 at delta 1e-6."""
    assert round(spent(Private(1.0).fit(make_world()).fit(make_world())), 3) == 1.455
    for page in ("README.md", "docs/sharp-edges.md"):
        assert "1.455" in (ROOT / page).read_text(encoding="utf-8")


def test_a_fit_that_was_refused_is_not_counted():
    """Nothing was drawn: the next fit is the first."""
    world = make_world()
    with pytest.raises(PrivacyError):
        Private(1.0, lifetime=0.5).fit(world)
    assert spent(Private(1.0).fit(world)) < 1.001


def test_a_fit_without_noise_is_on_its_own_card_alone():
    """A reference at epsilon inf protects nobody, and says so; another object's card is its own."""
    world = make_world()
    Private(math.inf).fit(world)
    assert spent(Private(1.0).fit(world)) < 1.001


def test_an_object_that_was_fitted_without_noise_says_why_it_protects_nobody():
    """Its next fit has noise, but the earlier one is counted; no line says that it has none."""
    world = make_world()
    model = Private(math.inf).fit(world).set_params(epsilon=1.0).fit(world)
    (card,) = model.guarantees()
    assert card.epsilon is None
    assert "an earlier fit of these people, counted here, had no noise" in card.sentence
    assert card.name == "Private lists from noisy sums over people, after a fit without noise"
    assert card.not_covered == ("everything: an earlier fit of these people had no noise",)


def test_a_refit_of_the_standard_scheme_on_few_changed_people_is_refused():
    """Without `previous`, the object's own people are compared: the difference shows what few
    like."""
    model = StandardScheme(service_sees_items=False, factors=2).fit(PEOPLE)
    with pytest.raises(ConfigError, match="Only 1 of the training people changed"):
        model.fit(PEOPLE.where(PEOPLE.users != 0))


def test_a_bandit_counts_its_fits():
    """Two logs may hold the same visit: the card states twice the epsilon of one."""
    log = (["a", "b"], [1.0, 0.0], [[0.1, 0.2], [0.3, 0.4]])
    bandit = PDap(["a", "b"], epsilon=1.0).fit(*log)
    assert bandit.guarantees()[0].epsilon == 1.0
    (card,) = bandit.fit(*log).guarantees()
    assert card.epsilon == 2.0
    assert "2 fits together" in card.sentence
