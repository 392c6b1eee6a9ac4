"""The recommender `Private`: lists, reasons, files and bad input."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import astuple, replace

import numpy as np
import pytest
from sklearn.base import clone

from tacit import Private, Ratings, container, load_model
from tacit.data import generate
from tacit.errors import ConfigError, DataError, ModelFileError, NotFittedError
from tacit.privacy import Basis
from tacit.profile_sums.sums import like_pairs
from tacit.recommenders.fits_in_process import comparison
from tacit.testing import RecommenderConformance


class TestConformance(RecommenderConformance):
    """Without noise, so that two fits agree."""

    def make(self):
        return Private(epsilon=math.inf)


@pytest.fixture(scope="module", params=["taste", "top-items", "auto"])
def model(request, world):
    """Without noise 'auto' asks for pairs of likes, too."""
    return Private(epsilon=math.inf, mode=request.param).fit(world)


def test_three_lines(world):
    """With noise: fit, recommend, ten unseen items."""
    made = Private(epsilon=1.0, delta=1e-6).fit(world).recommend(history=[0, 4], n=10)
    assert len(made) == 10
    assert not {0, 4} & set(made.item_ids)


def test_likes_of_a_genre_bring_the_genre(model, world):
    """Three likes of one genre lift its items above where popularity has them; over all genres."""
    listed = dict(zip(world.item_ids.tolist(), world.item_metadata["genres"].tolist(), strict=True))
    personal, popular = 0, 0
    for genre in ("g0", "g1", "g2", "g3"):
        own = [item for item in listed if genre in listed[item]][:3]
        made = model.recommend(history=own, n=6).item_ids
        others = model.recommend(history=[], exclude=own, n=6).item_ids
        personal += sum(genre in listed[item] for item in made)
        popular += sum(genre in listed[item] for item in others)
    assert personal > popular + 2


def test_ids_are_likes(model):
    """A list of ids is a history of the best rating for each."""
    assert model.recommend(history=[1, 2]) == model.recommend(history={1: 5.0, 2: 5.0})


def test_many_are_one_by_one(model):
    """`recommend_many` gives what `recommend` gives for each history."""
    histories = [[1, 2], {3: 1.0, 4: 5.0}, []]
    for history, made in zip(histories, model.recommend_many(histories, n=5), strict=True):
        assert made.item_ids == model.recommend(history=history, n=5).item_ids


def test_reasons_add_up_to_the_personal_part(model):
    """An own item adds what the history adds to the score, and what every like loses alike: b_0."""
    history = {5: 5.0}
    scores = model.recommend(history=history, n=1)
    item = scores.item_ids[0]
    personal = model.predict([item], history=history) - model.predict([item], history={})
    (own,) = [each for each in model.explain(item, history=history) if each.kind == "item"]
    assert own.name == 5
    released, alike = model.released_.personal, 0.0
    place = model.item_ids_.tolist().index(item)
    if model.settings_.mode == "auto":
        alike = released.pairs.mean @ released.pairs.vectors_of_all(24)[place]
    elif model.settings_.mode == "taste":
        alike = released.own_likes.mean @ released.own_likes.matrix @ released.items[place]
    assert own.score == pytest.approx(personal[0] + alike)


def test_reasons_are_positive_and_ordered(model):
    """At most n of each kind, of the person's own items, largest first."""
    history = {0: 5.0, 5: 5.0, 10: 1.0, 15: 5.0}
    reasons = model.explain(17, history=history, n=2)
    own = [each for each in reasons if each.kind == "item"]
    assert len(own) <= 2
    assert all(each.score > 0 for each in reasons)
    assert own == sorted(own, key=lambda each: -each.score)
    assert {each.name for each in own} <= set(history)


def test_similar_items_share_the_genre(model, world):
    """Most of what liking an item of one genre alone speaks for is of that genre."""
    genres = dict(zip(world.item_ids.tolist(), world.item_metadata["genres"].tolist(), strict=True))
    alone = next(item for item, own in genres.items() if own == "g2")
    made = model.similar_items(alone, n=4).item_ids
    assert alone not in made
    assert sum("g2" in genres[item] for item in made) >= 3
    with pytest.raises(DataError, match="no such item"):
        model.similar_items(10**6)


@pytest.mark.parametrize("mode", ["taste", "top-items"])
@pytest.mark.parametrize("across", [False, True])
def test_a_file_gives_the_same_lists(tmp_path, two_domains, mode, across):
    """Saved and loaded, with noise: the same lists, card and words."""
    sides = {"source": "s", "target": "t"} if across else {}
    fitted = Private(epsilon=30.0, mode=mode, **sides).fit(two_domains)
    fitted.save(tmp_path / "m.tacit")
    loaded = load_model(tmp_path / "m.tacit")
    for history in ([0, 1], {0: 5.0, 3: 1.0, 20: 4.0}, []):
        assert loaded.recommend(history=history) == fitted.recommend(history=history)
    assert loaded.guarantees() == fitted.guarantees()
    assert loaded.get_params() == fitted.get_params()


@pytest.mark.parametrize(("mode", "most"), [("taste", 400_000), ("auto", 528_000)])
def test_a_model_of_3700_items_with_titles_is_below_400_kilobytes(tmp_path, mode, most):
    """Tastes take 32 bits a number, and the values of features follow from their columns. Pairs of
    likes, which 'auto' asks for without noise, take 40 numbers for 800 items: 128 kilobytes."""
    made = generate(users=300, items=3700, ratings=18_000, labels=18, seed=1)
    titles = [f"A film of twenty letters {n}" for n in range(3700)]
    metadata = {**made.item_metadata, "title": np.array(titles, dtype=object)}
    fitted = Private(math.inf, mode=mode).fit(replace(made, item_metadata=metadata))
    assert fitted.released_.personal.items.shape == (3700, 12)
    fitted.save(tmp_path / "m.tacit")
    assert (tmp_path / "m.tacit").stat().st_size < most
    loaded = load_model(tmp_path / "m.tacit")
    if mode == "auto":
        pairs, read = fitted.released_.personal.pairs, loaded.released_.personal.pairs
        assert pairs.vectors.shape == (800, 40)
        for written, again in zip(astuple(pairs), astuple(read), strict=True):
            np.testing.assert_array_equal(written, again)
        assert loaded.released_.personal.own_likes is None
    assert (loaded.released_.personal.features != fitted.released_.personal.features).nnz == 0
    np.testing.assert_array_equal(loaded.released_.personal.items, fitted.released_.personal.items)


@pytest.mark.parametrize(
    "change",
    [
        {"items": np.float64},
        {"feature_lengths": np.int64},
        {"feature_columns": np.int64},
    ],
    ids=str,
)
def test_arrays_of_another_type_are_refused(tmp_path, world, change):
    """A reader takes the types alone that a writer gives."""
    Private(math.inf, mode="taste").fit(world).save(tmp_path / "m.tacit")
    header, arrays = container.read(tmp_path / "m.tacit")
    changed = {name: arrays[name].astype(dtype) for name, dtype in change.items()}
    container.write(tmp_path / "m.tacit", header, arrays | changed)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m.tacit")


@pytest.mark.parametrize("name", ["feature_lengths", "feature_columns"])
def test_features_that_do_not_fit_the_items_are_refused(tmp_path, world, name):
    """More features than columns are listed, or a column that there is none of."""
    Private(math.inf, mode="taste").fit(world).save(tmp_path / "m.tacit")
    header, arrays = container.read(tmp_path / "m.tacit")
    forged = arrays[name].copy()
    forged[0] += 200
    container.write(tmp_path / "m.tacit", header, arrays | {name: forged})
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m.tacit")


@pytest.mark.parametrize(
    "change",
    [
        {"pair_items": np.array([1, 0])},
        {"pair_items": np.array([0, 24])},
        {"pair_items": np.array([0.0, 1.0])},
        {"pair_items": np.array([0, 0])},
        {"pair_items": np.array([-1, 0])},
        {"pair_items": np.array([[0], [1]])},
        {"pair_items": np.zeros(0, np.int16), "pairs": np.zeros((0, 2), np.float32)},
        {"released_pairs": np.array([0])},
        {"released_pairs": np.array([2])},
        {"released_pairs": np.array([1, 1])},
        {"released_pairs": np.array([1.0])},
        {"pairs": np.zeros((2, 2))},
        {"pairs": np.full((2, 2), np.nan, np.float32)},
        {"pairs_mean": np.zeros(3)},
        {"pairs_mean": np.zeros(0), "pairs": np.zeros((2, 0), np.float32)},
    ],
    ids=str,
)
def test_pairs_that_do_not_fit_are_refused(tmp_path, world, change):
    """Places out of order or outside, vectors of another type or length."""
    Private(math.inf).fit(world).save(tmp_path / "m.tacit")
    header, arrays = container.read(tmp_path / "m.tacit")
    whole = {
        "pair_items": np.array([0, 1]),
        "pairs": np.ones((2, 2), np.float32),
        "pairs_mean": np.ones(2),
    }
    container.write(tmp_path / "m.tacit", header, arrays | whole)
    assert load_model(tmp_path / "m.tacit").recommend(history=[1])
    container.write(tmp_path / "m.tacit", header, arrays | whole | change)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m.tacit")


@pytest.fixture(scope="module")
def many_people():
    """People enough for pairs of likes at epsilon 500."""
    return generate(users=600, items=60, ratings=18_000, labels=6, seed=3)


def forge_pairs(model, path):
    """Write the model with vectors of pairs that no fit would have given it."""
    header, arrays = model.parts()
    forged = {
        "pair_items": np.array([0, 1]),
        "pairs": np.ones((2, 2), np.float32),
        "pairs_mean": np.ones(2),
        "released_pairs": np.array([1]),
    }
    container.write(path, header, arrays | forged)


def test_pairs_of_fits_that_ask_for_none_are_refused(tmp_path, world, many_people):
    """Of tastes chosen by hand, of two domains, of a plan, and beside consenting people."""
    domains = {"source": "a", "target": "b"}
    halves = np.where(np.arange(world.n_items) % 2, "a", "b").astype(object)
    two = replace(world, item_metadata={**world.item_metadata, "domain": halves})
    models = [
        Private(math.inf, mode="taste").fit(world),
        Private(math.inf, **domains).fit(two),
        Private(math.inf, consented=world.user_ids[:16].tolist()).fit(world),
        Private(lifetime=3000.0, fits=2).fit(many_people),
    ]
    for model in models:
        assert model.released_.mode == "taste"
        assert not model.released_.has_pairs
        forge_pairs(model, tmp_path / "m.tacit")
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "m.tacit")


def test_a_file_says_that_pairs_were_released_where_none_stood_out(
    tmp_path, many_people, monkeypatch
):
    """Its card and summary say so, too, as they do where pairs are served."""
    served = Private(500.0).fit(many_people)
    assert served.released_.serves_pairs
    monkeypatch.setattr(like_pairs, "_LEAST_EDGE", 1e9)
    model = Private(500.0).fit(many_people)
    model.save(tmp_path / "m.tacit")
    for one in (model, load_model(tmp_path / "m.tacit")):
        assert one.released_.has_pairs
        assert not one.released_.serves_pairs
        assert one.summary() == model.summary()
        assert "of which none stood out from the noise" in one.summary()
        assert "pairs of likes are a second table" in one.guarantees()[0].assumptions[-1]


def test_card_and_summary_say_that_pairs_of_likes_were_released():
    """At so little noise that 'auto' asks for them: the same epsilon and four sums, one assumption
    more; in mode 'taste' nothing is said of them."""
    shop = generate(users=400, items=40, ratings=8_000, labels=4, seed=2)
    with comparison():
        with_pairs = Private(500.0).fit(shop)
        without = Private(500.0, mode="taste").fit(shop)
    (card,), (other,) = with_pairs.guarantees(), without.guarantees()
    assert "with pairs of likes" in with_pairs.summary()
    assert "pairs of likes" not in other.sentence
    assert card.epsilon == other.epsilon
    assert [each for each in card.assumptions if each not in other.assumptions] == [
        card.assumptions[-1]
    ]
    assert "pairs of likes" in card.assumptions[-1]
    assert "4 noisy sums" in str(card.assumptions)


def test_across_domains_lists_hold_the_target_alone(two_domains):
    """And what was rated in the target is left out of them."""
    fitted = Private(epsilon=math.inf, source="s", target="t").fit(two_domains)
    made = fitted.recommend(history={0: 5.0, 12: 5.0}, n=100).item_ids
    assert set(made) == set(range(13, 24))


def test_scikit_learn_clones_it():
    """Parameters come back as they were given, and a clone is not fitted."""
    model = Private(epsilon=2.0, features=("genres",)).set_params(delta=1e-5)
    made = clone(model)
    assert made.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        made.recommend(history=[1])
    with pytest.raises(NotFittedError):
        made.explain(1, history=[1])
    with pytest.raises(ConfigError):
        made.set_params(colour="red")


def test_the_card_is_of_the_declared_events(world):
    """Epsilon is that of the four events, at most what was asked and nearly that; conditional
    where catalogue and scale were read off the ratings, proved where they were given."""
    from dataclasses import replace

    (card,) = Private(epsilon=1.0).fit(world).guarantees()
    assert 0.999 < card.epsilon <= 1.0
    assert card.basis is Basis.CONDITIONAL
    with comparison():
        (card,) = Private(epsilon=1.0).fit(replace(world, catalogue_given=True)).guarantees()
    assert card.basis is Basis.PROVED
    assert "Effective population" in card.sentence
    (card,) = Private(epsilon=math.inf).fit(world).guarantees()
    assert card.epsilon is None
    assert card.basis is Basis.NONE


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"epsilon": 0}, ConfigError),
        ({"epsilon": "1"}, ConfigError),
        ({"delta": 0}, ConfigError),
        ({"delta": 1.0}, ConfigError),
        ({"mode": "head"}, ConfigError),
        ({"features": ("colour",)}, DataError),
        ({"source": "s"}, ConfigError),
        ({"target": "x"}, DataError),
        ({"source": "s", "target": "s"}, ConfigError),
        ({"mode": "taste", "features": ()}, ConfigError),
        ({"like_at": math.nan}, ConfigError),
    ],
)
def test_bad_settings_are_refused(two_domains, parameters, error):
    """In one sentence, and before anything is released."""
    model = Private(**parameters)
    with pytest.raises(error):
        model.fit(two_domains)
    assert not hasattr(model, "released_")


@pytest.mark.parametrize("history", [{0: 7.0}, {0: math.nan}, {0: "five"}, "0"])
def test_bad_histories_are_refused(model, history):
    """Off the scale, no number, or a text in place of a list."""
    with pytest.raises(DataError):
        model.recommend(history=history)


def test_unknown_items_say_nothing(model):
    """An id that the model does not know changes no list."""
    assert model.recommend(history=[1, 999]) == model.recommend(history=[1])


def test_at_least_one_reason_is_asked_for(model):
    """A negative number would leave out the last ones."""
    with pytest.raises(ConfigError, match="at least one"):
        model.explain(1, history=[0], n=-1)


def test_a_pickle_holds_no_person(world):
    """The rows of everybody are known to the fitted object alone: neither pickles nor copies of it,
    nor of a model that names it as `previous`, have them."""
    first = Private(1.0).fit(world)
    for made in (first, Private(1.0, previous=first).fit(world)):
        other = pickle.loads(pickle.dumps(made))  # noqa: S301  # its own
        assert other.people_ is None
        assert other.previous is None or other.previous.people_ is None
        assert copy.deepcopy(made).people_ is None
        assert other.recommend(history=[0]).item_ids == made.recommend(history=[0]).item_ids


@pytest.mark.parametrize("people", [1, 2, 5, 50])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
@pytest.mark.parametrize("mode", ["auto", "taste", "top-items"])
def test_few_people_get_finite_lists(world, people, epsilon, mode):
    """Of any number of people: a card, a list, a device file, stars; never a crash or NaN."""
    few = world.where(world.users < people)
    made = Private(epsilon, mode=mode, stars=True).fit(few)
    items = made.item_ids_.tolist()
    assert len(made.recommend(history=items[:1], n=5)) == 5
    assert np.isfinite(made.predict(items, history={items[0]: 5.0})).all()
    assert len(made.device_file()) > 100
    assert made.guarantees()


def test_repeated_rows_count_once(world):
    """50,000 events of one person on 24 items are 24 rows, the last of each pair."""
    rows = np.arange(50_000)
    many = Ratings.from_arrays(
        np.zeros(50_000, int), rows % 24, np.where(rows < 49_976, 1.0, 5.0), scale=world.scale
    )
    once = Ratings.from_arrays(np.zeros(24, int), np.arange(24), np.full(24, 5.0), scale=many.scale)
    one, other = (Private(math.inf).fit(each).released_.means for each in (many, once))
    assert one.tolist() == other.tolist()
