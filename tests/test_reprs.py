"""What is printed of an object in a notebook or a log holds no person's id and no rating."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from tacit import Ratings, generate
from tacit.data.votes import VoteRound
from tacit.designs.private import Private
from tacit.designs.xmap import XMap
from tacit.errors import ConfigError
from tacit.recommenders.baselines import ItemKNN, MatrixFactorization, Popularity

RATINGS = Ratings.from_arrays(["c4n4ry-u", "other"], ["c4n4ry-i", "item"], [4.5, 1.0])
FITTED = Private().fit(generate(users=60, items=20, ratings=300, seed=1))
MODELS = (
    MatrixFactorization(factors=7),
    ItemKNN(),
    Popularity(),
    XMap(target="films", epsilon=2.0),
    Private(epsilon=2.0),
)


@pytest.mark.parametrize(
    "shown",
    [
        RATINGS,
        VoteRound("r", ("a", "b"), RATINGS.user_ids, RATINGS.item_ids),
        Popularity().fit(RATINGS),
    ],
    ids=lambda one: type(one).__name__,
)
def test_no_repr_names_a_person(shown):
    """Neither an id nor a rating, and a line that fits a terminal."""
    assert "c4n4ry" not in repr(shown)
    assert "4.5" not in repr(shown)
    assert len(repr(shown)) < 100


@pytest.mark.parametrize(
    "shown",
    [RATINGS, Popularity().fit(RATINGS), FITTED],
    ids=lambda one: type(one).__name__,
)
def test_no_notebook_view_names_a_person(shown):
    """Neither an id nor a rating, in HTML either."""
    page = shown._repr_html_()
    assert page.startswith("<table>")
    assert "c4n4ry" not in page
    assert "4.5" not in page


def test_a_card_and_a_list_have_a_notebook_view():
    """A card begins with its basis; a list shows titles where the model has them, escaped."""
    (card,) = FITTED.guarantees()
    view = card._repr_html_()
    assert f">{card.first_line}</td>" in view
    assert "text-align:left" in view
    assert "color:#" not in view
    best = FITTED.recommend(history=[1], n=1)
    titled = best.with_titles({best[0].item_id: "Salt & <b>"})
    assert f"Salt &amp; &lt;b&gt; ({best[0].item_id})" in titled._repr_html_()
    assert titled.to_dict()["title"] == ["Salt & <b>"]
    assert "Salt & <b>" in repr(titled)


def test_a_repr_says_how_large_it_is():
    """Sizes and the scale of ratings."""
    ratings = generate(users=20, items=10, ratings=60, seed=1)
    assert repr(ratings) == "Ratings(60 ratings of 20 people for 10 items, 1:5:1)"


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_models_have_parameters_as_scikit_learn_asks(model):
    """get_params, set_params and clone; repr names what is not the default."""
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert repr(copied) == repr(model)
    with pytest.raises(ConfigError, match="has no parameter 'nothing'"):
        model.set_params(nothing=1)


def test_a_changed_parameter_is_shown():
    """set_params changes what the next fit uses, and what repr says."""
    assert repr(MatrixFactorization().set_params(factors=3)) == "MatrixFactorization(factors=3)"
    assert repr(XMap(target="films").set_params(epsilon=2.0)) == "XMap(target='films', epsilon=2.0)"
