"""XMap from outside: variants, targets, cold start, reasons, files."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import Private, XMap, load_model
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings
from tacit.design import usefulness
from tacit.designs.private.device import DeviceLists
from tacit.engine import Engine
from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError
from tacit.privacy import Basis
from tacit.randomness import replay, simulation

INF = math.inf
SETTINGS = {"source": "books", "target": "films", "engine": Engine(), "k": 10}


def listed(world):
    """The same ratings, their items a public catalogue."""
    domains = world.item_metadata["domain"].tolist()
    return on_catalogue(world, dict(zip(world.item_ids.tolist(), domains, strict=True)))


def nx_map(**settings):
    return XMap(**{**SETTINGS, "variant": "published", "epsilon": INF, **settings})


@pytest.fixture(scope="module")
def model(world):
    return nx_map().fit(world)


def quiet(world):
    """Whoever rated least, so that most films are new to her."""
    return world.user_ids[np.diff(world.offsets).argmin()].item()


def books_of(world, person):
    history = world.history(person)
    return {item: stars for item, stars in history.items() if item % 2 == 0}


def test_lists_are_of_the_target(model, world):
    """Only films are recommended, and only films have predictions."""
    made = model.recommend(quiet(world), n=100)
    assert all(item % 2 for item in made.item_ids)
    found = model.predict(world.item_ids.tolist(), history=books_of(world, 1))
    assert np.isnan(found[world.item_ids % 2 == 0]).all()
    assert np.isfinite(found[world.item_ids % 2 == 1]).all()


def test_a_list_is_ranked_by_scores_that_differ(model, world):
    """The first film of a list has a larger score than the last one."""
    scores = [row.score for row in model.recommend(quiet(world), n=10).rows]
    assert scores[0] > scores[-1]


def test_cold_start_uses_the_source(model, world):
    """Somebody who rated books alone gets predictions of her own, not the means of films."""
    films = world.item_ids[world.item_ids % 2 == 1].tolist()
    means = model.predict(films, history={})
    found = model.predict(films, history=books_of(world, quiet(world)))
    assert np.abs(found - means).max() > 0.05


def test_newcomer_gets_means(model, world):
    """Without any rating a film's prediction is its mean."""
    film = next(item for item in world.item_ids.tolist() if item % 2)
    number = world.item_number(film)
    mean = world.values[world.items == number].mean()
    assert model.predict([film], history={})[0] == pytest.approx(mean)


@pytest.mark.parametrize("kind", ["item-based", "user-based"])
def test_infinity_is_nx_map(world, kind):
    """Published at epsilon = inf draws nothing: whatever the source of draws, NX-Map to the bit."""
    with simulation():
        first, second = (nx_map(recommender=kind).fit(world, draws=replay(n)) for n in (1, 2))
    items = world.item_ids.tolist()
    for person in world.user_ids[:5].tolist():
        np.testing.assert_array_equal(first.predict(items, person), second.predict(items, person))
        assert first.recommend(person) == second.recommend(person)


def test_infinity_is_the_argmax(world, model):
    """NX-Map's image of every book is the film of the largest X-SIM, computed apart."""
    from tacit.designs.xmap.baseliner import make_baseline
    from tacit.designs.xmap.extender import compute_x_sim, extend

    domain = world.item_ids % 2
    books, films = (np.flatnonzero(domain == side).astype(np.int32) for side in (0, 1))
    extension = extend(
        make_baseline(world.matrix), books, films, k=10, significance=50, engine=Engine()
    )
    found = compute_x_sim(extension, books, Engine())
    images = model.published_.by_target["films"].images[books]
    assert (images >= 0).sum() > 10
    for row, image in zip(found, images, strict=True):
        assert image == (-1 if np.isnan(row).all() else np.nanargmax(row))


def test_finite_budgets_differ(world, model):
    """PRS and PNSA do something: at finite budgets images and neighbours are others."""
    with simulation():
        drawn = nx_map(epsilon=0.3, epsilon_prime=0.8).fit(world, draws=replay(1))
    ours, theirs = (m.published_.by_target["films"] for m in (drawn, model))
    assert (ours.images != theirs.images).mean() > 0.3
    assert drawn.guarantees()[0].basis is Basis.REFUTED


def test_prime_alone_can_be_infinite(world, model):
    """epsilon_prime = inf keeps PNSA out: with one's own ratings alone, neighbours are exact."""
    with simulation():
        drawn = nx_map(epsilon=1.0, epsilon_prime=INF).fit(world, draws=replay(1))
    assert drawn.guarantees()[0].basis is Basis.REFUTED
    assert (
        drawn.published_.by_target["films"].images != model.published_.by_target["films"].images
    ).any()


def test_user_based_draws_once(world):
    """The same profile asks twice and gets the same list: noise cannot be averaged away."""
    with simulation():
        drawn = nx_map(recommender="user-based", epsilon=0.6, epsilon_prime=0.3).fit(
            world, draws=replay(1)
        )
        person = quiet(world)
        assert drawn.recommend(person) == drawn.recommend(person)


def test_user_based_names_nobody(world, tmp_path):
    """A file of a user-based model would be everybody's profile, and its reasons other people."""
    model = nx_map(recommender="user-based").fit(world)
    assert model.explain(1, history={2: 5.0}) == ()
    with pytest.raises(PrivacyError, match="holds no people"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_sound_variant_names_no_people():
    """User-based with a guarantee is refused: no release about items can name neighbours."""
    with pytest.raises(PrivacyError, match="no user-based recommender"):
        XMap(**{**SETTINGS, "recommender": "user-based"})


def test_several_targets_from_one_fit(world, place):
    """Three domains: each is a target, and is never its own source."""
    names = ("books", "films", "songs")
    three = place(world, lambda item: names[item % 3])
    model = nx_map(source=None, target=names).fit(three)
    person = quiet(three)
    for rest, name in enumerate(names):
        made = model.recommend(person, target=name, n=100)
        assert made.item_ids
        assert all(item % 3 == rest for item in made.item_ids)
        sources = model.published_.by_target[name].images >= 0
        assert (three.item_ids[sources] % 3 != rest).all()
    assert len(model.recommend(person, n=100)) == sum(
        len(model.recommend(person, n=100, target=name)) for name in names
    )


def test_items_without_a_domain_stay_out(world, place):
    """Ratings of items in no named domain have no say, and their predictions are NaN."""
    partly = place(world, lambda item: None if item > 40 else "films" if item % 2 else "books")
    without = place(
        world.where(world.item_ids[world.items] <= 40).compact(),
        lambda item: "films" if item % 2 else "books",
    )
    first, second = (nx_map().fit(ratings) for ratings in (partly, without))
    history = {2: 5.0, 4: 1.0, 45: 3.0}
    assert first.recommend(history=history) == second.recommend(history=history)
    assert np.isnan(first.predict([45], history=history)[0])


def test_no_overlap_gives_means(world):
    """With no straddler there is no bridge: everybody gets what a newcomer gets, and no error."""
    domain = world.item_ids[world.items] % 2
    apart = world.where(domain == world.users % 2)
    model = nx_map().fit(apart)
    films = world.item_ids[world.item_ids % 2 == 1].tolist()
    np.testing.assert_array_equal(
        model.predict(films, history=books_of(world, quiet(world))),
        model.predict(films, history={}),
    )


def test_own_target_ratings_count(model, world):
    """A few film ratings change the predictions for other films."""
    history = books_of(world, quiet(world))
    films = [item for item in world.item_ids.tolist() if item % 2]
    more = {**history, films[0]: 1.0, films[1]: 5.0, films[2]: 5.0}
    before, after = (model.predict(films[3:], history=h) for h in (history, more))
    assert (before != after).any()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variant": "new"}, "variant is"),
        ({"recommender": "both"}, "recommender is"),
        ({"k": 0}, "1 or more"),
        ({"extender_k": 0}, "1 or more"),
        ({"alpha": -1.0}, "alpha"),
        ({"epsilon": 0.0}, "epsilon is above 0"),
        ({"epsilon": math.nan}, "epsilon is above 0"),
        ({"epsilon_prime": 1.0}, "published"),
        ({"delta": 0.0}, "delta above 0"),
        ({"delta": 1.0}, "below 1"),
        ({"target": ()}, "at least one target"),
        ({"target": ("films", "films")}, "each once"),
        ({"source": "films"}, "another domain"),
        ({"k": 2.5}, "k is a whole number; got 2.5"),
        ({"k": True}, "k is a whole number"),
        ({"extender_k": "10"}, "extender_k is a whole number"),
        ({"significance": math.nan}, "significance is a whole number; got nan"),
        ({"delta": None}, "delta is a number; got None"),
        ({"epsilon": "1"}, "epsilon is a number"),
        ({"epsilon": None}, "epsilon is a number"),
        ({"alpha": None}, "alpha is a number"),
        ({"delta": math.nan}, "delta is a chance"),
        ({"domain": 3}, "domain is the name"),
        ({"target": 5}, "target is the name of a domain, or several; got 5"),
        ({"target": ("films", 5)}, "target is the name"),
        ({"source": {"books"}}, "source is the name"),
        ({"target": None}, "target is the name"),
        ({"stars": 1}, "stars is true or false; got 1"),
        ({"epsilon": 10**400}, "epsilon is a number below 1e308, or inf; got a larger one"),
        ({"delta": 10**5000}, "delta is a number below 1e308"),
        ({"features": 3}, "features are names of item metadata; got 3"),
        ({"features": ["genres", 3]}, "features are names"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    """Every wrong setting has its sentence, before any data is read."""
    with pytest.raises(ConfigError, match=words):
        XMap(**{**SETTINGS, **settings})


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_lists_of_a_model_that_is_not_fitted_are_refused(variant):
    """Before anything of it is read."""
    model = XMap(source="books", target="films", variant=variant)
    with pytest.raises(NotFittedError, match="Call fit"):
        model.list_users([1])


def test_unknown_domain(world):
    """A name that no item has is refused, with the names there are."""
    with pytest.raises(DataError, match="books, films"):
        nx_map(target="songs").fit(world)


def test_items_without_domains(world):
    """Ratings without the column are refused, with what to do."""
    bare = Ratings.from_arrays(world.users, world.items, world.values, scale=world.scale)
    with pytest.raises(DataError, match="--domain-column"):
        nx_map().fit(bare)


def test_empty_target(world):
    """A target without a single rating is refused."""
    books = world.where(world.item_ids[world.items] % 2 == 0)
    with pytest.raises(DataError, match="nobody rated"):
        nx_map().fit(books)


def test_unknown_target(model):
    """Asking for a target that was not fitted names those that were."""
    with pytest.raises(ConfigError, match="It has: films"):
        model.recommend(history={}, target="books")


def test_stars_off_the_scale(model):
    """A history with stars off the scale is refused."""
    with pytest.raises(DataError, match="off the scale"):
        model.recommend(history={2: 9.0})


def test_sound_is_proved(world):
    """The sound variant's card has the epsilon and delta that were asked for."""
    model = XMap(**SETTINGS, epsilon=1.0, delta=1e-5).fit(listed(world))
    (card,) = model.guarantees()
    assert (card.basis, card.epsilon, card.delta) == (Basis.PROVED, 1.0, 1e-5)


@pytest.mark.parametrize("source", ["books", None])
def test_sound_is_private_lists_across_domains(world, source):
    """At epsilon = inf, where nothing is drawn, lists, stars and reasons are those of `Private`."""
    sound = XMap(source=source, target="films", epsilon=INF, stars=True).fit(world)
    lists = Private(INF, source=source, target="films", stars=True).fit(world)
    history = books_of(world, quiet(world))
    films = [item for item in world.item_ids.tolist() if item % 2]
    made = lists.recommend(history=history, n=100)
    assert sound.recommend(history=history, n=100) == made
    assert sound.explain(made[0].item_id, history=history) == lists.explain(
        made[0].item_id, history=history
    )
    np.testing.assert_array_equal(
        sound.predict(films, history=history), lists.predict(films, history=history)
    )


def test_sound_with_a_domain_that_is_source_and_target(world, place):
    """Then all domains are one, and lists hold each target's items alone."""
    names = ("books", "films", "songs")
    three = place(world, lambda item: names[item % 3])
    model = XMap(target=("films", "songs"), epsilon=INF, stars=True).fit(three)
    history = three.history(quiet(three))
    made = Private(INF).fit(three).recommend(history=history, n=100)
    for rest, name in enumerate(names[1:], 1):
        found = model.recommend(history=history, target=name, n=100)
        assert found.item_ids == [item for item in made.item_ids if item % 3 == rest]
    assert np.isnan(model.predict([3], history=history)[0])


def test_sound_without_stars_predicts_none(world):
    """Asked for stars that were not paid for, it says how to have them."""
    model = XMap(source="books", target="films").fit(world)
    with pytest.raises(ConfigError, match="Fit it with --stars"):
        model.predict([1], history={2: 5.0})


def test_sound_takes_public_features(world):
    """Columns of item metadata that tastes are made of are chosen by name."""
    with pytest.raises(DataError, match="no item metadata 'mood'"):
        XMap(source="books", target="films", features=["mood"]).fit(world)


def test_infinite_cards_claim_nothing(world, model):
    """At epsilon = inf every variant says that nobody is protected."""
    twins = [model, XMap(**SETTINGS, epsilon=INF).fit(world)]
    assert [twin.guarantees()[0].basis for twin in twins] == [Basis.NONE] * 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda world: world, "which items were rated is public"),
        (lambda world: replace(listed(world), scale_given=False), "the scale detected"),
        (lambda world: listed(world.drop_rare(per_item=2)), "what a filter"),
    ],
)
def test_what_is_read_off_the_ratings_is_an_assumption(world, tmp_path, change, said):
    """A card is conditional on whatever the fit took from the ratings, and a file remembers."""
    model = XMap(**SETTINGS, epsilon=1.0).fit(change(world))
    (card,) = model.guarantees()
    assert card.basis is Basis.CONDITIONAL
    assert sum(said in line for line in card.assumptions) == 1
    assert card.sentence.count("conditional") == 1
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").guarantees() == (card,)


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_unrated_items_are_served(world, variant):
    """An item of the catalogue that nobody rated is in the model and has a prediction."""
    half = world.where(world.item_ids[world.items] < 40)
    model = XMap(**{**SETTINGS, "variant": variant, "epsilon": INF, "stars": True}).fit(
        listed(half)
    )
    found = model.predict([45, 41], history={2: 5.0, 4: 4.0})
    assert np.isfinite(found).all()
    assert {41, 45} <= set(model.recommend(history={2: 5.0}, n=100).item_ids)


def test_numbers_of_numpy_are_numbers():
    """An integer or a float of NumPy is as good as one of Python, and fits into a header."""
    settings = XMap(**{**SETTINGS, "k": np.int64(7), "epsilon": np.float32(0.5)}).settings
    assert (type(settings.k), type(settings.epsilon)) == (int, float)


def test_the_sound_variant_has_a_file_for_devices(world, model):
    """That of its lists; the other variants have none and say so."""
    sound = XMap(source="books", target="films").fit(world)
    assert DeviceLists.decode(sound.device_file()).items == sound.sound_.item_ids_.tolist()
    with pytest.raises(ConfigError, match="sound variant"):
        model.device_file()
    both = XMap(source=("books", "films"), target=("books", "films")).fit(world)
    with pytest.raises(ConfigError, match="one target"):
        both.device_file()


def test_a_pickle_of_the_published_variant_holds_no_person(world, model):
    """As a file: it gives lists for histories alone. A user-based model, which is everybody's
    profile, has neither."""
    made = copy.deepcopy(model)
    person = quiet(world)
    history = world.history(person)
    assert made.recommend(history=history, n=5) == model.recommend(history=history, n=5)
    assert made.recommend(person, n=5) != model.recommend(person, n=5)
    users = nx_map(recommender="user-based").fit(world)
    with pytest.raises(PrivacyError, match="everybody's profile"):
        copy.deepcopy(users)


def at_times(world, seed=6):
    """The same ratings, each person's at moments of their own."""
    moments = np.random.default_rng(seed).permutation(len(world)).astype(np.int64)
    return replace(world, timestamps=moments)


def moments_of(world, person):
    """When a person rated each item."""
    number = world.user_number(person)
    rows = slice(world.offsets[number], world.offsets[number + 1])
    items = world.item_ids[world.items[rows]].tolist()
    return dict(zip(items, world.timestamps[rows].tolist(), strict=True))


def test_a_history_with_times_is_weighed_as_the_ratings_fitted_to(world):
    """Predictions for somebody's own history with its times are those for their id; without the
    times, or with times in reverse, they are others."""
    timed = at_times(world)
    fitted = nx_map(alpha=0.7).fit(timed)
    person = timed.user_ids[np.diff(timed.offsets).argmax()].item()
    history, moments = timed.history(person), moments_of(timed, person)
    items = timed.item_ids.tolist()
    by_id = fitted.predict(items, person)
    found = fitted.predict(items, history=history, history_times=moments)
    np.testing.assert_array_equal(found, by_id)
    backwards = {item: -moment for item, moment in moments.items()}
    for other in (None, backwards):
        weighed = fitted.predict(items, history=history, history_times=other)
        assert np.nanmax(abs(weighed - by_id)) > 0.01


def test_a_list_of_a_history_with_times_is_the_list_by_id(world):
    """Where a list is ranked by stars times support, its scores hang on the times too."""
    timed = at_times(world)
    with simulation():
        fitted = nx_map(alpha=0.7, epsilon=INF, epsilon_prime=1e9).fit(timed, draws=replay(3))
    person = quiet(timed)
    history, moments = timed.history(person), moments_of(timed, person)
    by_id = [(row.item_id, row.score) for row in fitted.recommend(person, n=5).rows]
    for times, same in ((moments, True), (None, False)):
        made = fitted.recommend(history=history, n=5, history_times=times)
        assert ([(row.item_id, row.score) for row in made.rows] == by_id) == same


def test_alpha_is_kept_in_the_model_file(world, tmp_path):
    """A loaded model weighs a history by its times as the fitted one does."""
    timed = at_times(world)
    fitted = nx_map(alpha=0.7).fit(timed)
    fitted.save(tmp_path / "m.tacit")
    loaded = load_model(tmp_path / "m.tacit")
    assert loaded.settings_.alpha == 0.7
    person = timed.user_ids[np.diff(timed.offsets).argmax()].item()
    asked = {"history": timed.history(person), "history_times": moments_of(timed, person)}
    items = timed.item_ids.tolist()
    np.testing.assert_array_equal(loaded.predict(items, **asked), fitted.predict(items, **asked))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({4: 10}, "the times are not those of the items in the history"),
        ({4: 10, 6: 20, 8: 30}, "the times are not those of the items in the history"),
        ({4: 10, 6: "noon"}, "the time of item 6 in the history is no whole number"),
        ({4: 10, 6: True}, "the time of item 6 in the history is no whole number"),
        ([10, 20], "times map items to seconds"),
    ],
)
def test_times_that_do_not_fit_the_history_are_refused(model, times, said):
    """One whole number of seconds for each rated item and for no other."""
    with pytest.raises(DataError, match=said):
        model.predict([5], history={4: 5.0, 6: 1.0}, history_times=times)


def test_times_without_a_history_are_refused(model, world):
    """They are those of the ratings fitted to, which are known."""
    with pytest.raises(DataError, match="times are given without a history"):
        model.predict([5], quiet(world), history_times={4: 10})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "beat a list of popular items"),
        ({"epsilon": 0.3, "epsilon_prime": 0.8}, "worse than a list of popular items"),
    ],
)
def test_a_published_model_says_its_own_usefulness(world, settings, said):
    """Not how many people the sound variant takes."""
    sentence = usefulness(nx_map(**settings).fit(world))
    assert said in sentence
    assert "Works from" not in sentence
