"""The standard scheme as one recommender."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import StandardScheme, load_model
from tacit import generate as generated
from tacit.auditing.attacks import ATTACKS, auc, distance
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.standard_scheme import State
from tacit.designs.standard_scheme import model as module
from tacit.designs.standard_scheme.disclosure import RELEASES
from tacit.designs.standard_scheme.messages import MICRO, Release
from tacit.designs.standard_scheme.training.people import ConsentingPeople, find_consenting_people
from tacit.designs.standard_scheme.training.population import simulate_release as simulated
from tacit.designs.standard_scheme.training.tables import estimate_all_tables
from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError
from tacit.privacy import Basis, Measurement
from tacit.randomness import replay, simulation

SMALL = {"factors": 3, "service_sees_items": False}


@pytest.fixture(scope="module")
def ratings():
    return generated(users=150, items=60, ratings=3600, seed=1)


@pytest.fixture(scope="module")
def history(ratings):
    return dict(list(ratings.history(1).items())[:12])


def with_attributes(ratings, attributes):
    """The same ratings under other attributes, each a column."""
    return replace(
        ratings,
        user_attributes={
            name: np.array(column, dtype=object) for name, column in attributes.items()
        },
    )


def categorical(seed=0, people=900, items=80, values="abc", gap=0.35):
    """Ratings of an attribute of three values with planted offsets; (ratings, offsets)."""
    generator = np.random.default_rng(seed)
    labels = np.arange(people) % len(values)
    offsets = generator.normal(0, gap, (len(values), items))
    offsets -= offsets.mean(axis=0)
    rows, columns = np.nonzero(generator.random((people, items)) < 0.5)
    stars = 3 + offsets[labels[rows], columns] + generator.normal(0, 0.8, len(rows))
    made = Ratings.from_arrays(
        rows,
        columns,
        np.round(stars).clip(1, 5),
        scale=RatingScale(1, 5, 1),
        user_attributes={"group": {n: values[label] for n, label in enumerate(labels)}},
    )
    return made, offsets


@pytest.mark.parametrize("release", ["scheme", "scheme+selection"])
def test_unrounded_whole_stars(ratings, release):
    """On whole stars the sound variant refuses what is not rounded, and names what to use."""
    with pytest.raises(PrivacyError, match=r"scheme\+selection\+rounding"):
        StandardScheme(release=release, **SMALL).fit(ratings)
    StandardScheme(release=release, variant="published", **SMALL).fit(ratings)


@pytest.mark.parametrize("release", ["none", "selection"])
def test_true_stars(release):
    """The sound variant never sends true stars; the published one reproduces it."""
    with pytest.raises(PrivacyError, match="true stars"):
        StandardScheme(release=release)
    StandardScheme(release=release, variant="published")


@pytest.mark.parametrize("answer", [None, True])
def test_a_service_that_sees_items(ratings, answer):
    """The sound variant is fitted only where it is said that the service learns nothing else."""
    with pytest.raises(PrivacyError, match=r"ten items known.*service_sees_items=False"):
        StandardScheme(service_sees_items=answer).fit(ratings)
    StandardScheme(service_sees_items=answer, variant="published", factors=2).fit(ratings)


def test_epochs_and_aliases_are_disclosed(ratings, tmp_path):
    """Settings of the calendar and of renamed items reach the devices, from a file as well."""
    model = StandardScheme(epoch_length=86_400, aliases={"old": 1}, **SMALL).fit(ratings)
    model.save(tmp_path / "model")
    for shown in (model.disclosure_, load_model(tmp_path / "model").disclosure_):
        assert (shown.epoch_length, shown.aliases) == (86_400, (("old", 1),))
    with pytest.raises(ConfigError, match="86400 seconds"):
        StandardScheme(epoch_length=86_399)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 15.9])
def test_small_epsilons_of_a_disclosure(epsilon):
    """A noisy disclosure below 16 makes releases tell more than true stars; it is refused."""
    with pytest.raises(PrivacyError, match=r"below 16 is refused.*\.886"):
        StandardScheme(disclosure_epsilon=epsilon)


@pytest.mark.parametrize("release", ["scheme+rounding", "scheme+selection+rounding"])
def test_continuous_scale(release):
    """Real-valued stars are rounded to quarters of the scale; stars off the scale are refused."""
    data = generated(users=80, items=40, ratings=1600, scale=RatingScale(-10, 10, 0), seed=2)
    model = StandardScheme(release=release, **SMALL).fit(data)
    made = model.exchange(data.history(1), {"gender": "F"})
    assert len(made.recommendations) == 10
    assert {level % MICRO for _, level in made.release.ratings} == {0}
    for stars in (10.5, -11.0):
        with pytest.raises(DataError, match="-10:10:0"):
            model.exchange({1: stars}, {"gender": "F"})


@pytest.mark.parametrize("release", ["scheme", "scheme+selection"])
def test_a_continuous_scale_is_no_way_round_rounding(release):
    """Whole stars declared continuous would be read exactly: unrounded releases stay refused."""
    data = generated(users=60, items=30, ratings=1200, scale=RatingScale(1, 5, 0), seed=2)
    with pytest.raises(PrivacyError, match="exactly"):
        StandardScheme(release=release, **SMALL).fit(data)


def test_coupling_needs_levels():
    """What couples stars is refused on a continuous scale."""
    data = generated(users=60, items=30, ratings=1200, scale=RatingScale(-10, 10, 0), seed=2)
    with pytest.raises(ConfigError, match=r"whole stars.*scheme\+selection\+rounding"):
        StandardScheme(release="coupling", **SMALL).fit(data)


def test_half_stars():
    """Half stars are levels: ten of them, and predictions stay in stars."""
    data = generated(users=80, items=40, ratings=1600, scale=RatingScale(0.5, 5, 0.5), seed=3)
    model = StandardScheme(**SMALL).fit(data)
    assert (model.disclosure_.levels, model.disclosure_.step) == (10, 0.5)
    sent = model.exchange(data.history(1), {"gender": "M"}).release
    assert all(level % MICRO == 0 and 0 <= level <= 9 * MICRO for _, level in sent.ratings)
    predicted = model.predict(data.item_ids.tolist(), history=data.history(1))
    assert np.median(np.abs(predicted - data.values.mean())) < 1


def test_planted_offsets_are_recovered():
    """With three values, disclosed offsets correlate with the planted ones (0.9 or more)."""
    data, offsets = categorical()
    model = StandardScheme(attributes=["group"], **SMALL).fit(data)
    found = model.fitted_.tables["group"].offsets / MICRO
    assert np.corrcoef(found.ravel(), offsets.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("release", ["scheme+rounding", "coupling"])
def test_attack_on_three_values_falls(release):
    """An attack that tells three values apart on true stars is near guessing on released ones."""
    data, _ = categorical()
    people, _ = find_consenting_people(data, ["group"])
    labels = people.labels[:, 0]
    train, test = np.flatnonzero(np.arange(900) < 600), np.flatnonzero(np.arange(900) >= 600)
    own = ConsentingPeople(
        people.levels[train], people.labels[train], people.names, people.values, people.n_levels
    )
    table = estimate_all_tables(own, coupling=True)["group"]
    with simulation():
        shown = simulated(
            people.levels[test],
            people.labels[test],
            [table],
            RELEASES[release],
            n_levels=5,
            source=replay(1),
        )
    for value in range(3):
        ones = (labels == value).astype(int)
        attack = ATTACKS["lda"]().fit(people.levels[train], ones[train])
        assert auc(ones[test], attack.score(people.levels[test])) > 0.85
        assert distance(auc(ones[test], attack.score(shown))) < 0.12


def test_people_of_unknown_attribute_are_left_out(ratings):
    """People without the attribute change nothing: they agreed to nothing."""
    known = ratings.attribute("gender").copy()
    known[::3] = None
    some = with_attributes(ratings, {"gender": known})
    model = StandardScheme(**SMALL).fit(some)
    assert model.fitted_.n_consenting == 100
    others = np.flatnonzero([value is not None for value in known])
    alone = StandardScheme(**SMALL).fit(some.of_users(others))
    assert alone.disclosure_.encode() == model.disclosure_.encode()


@pytest.mark.parametrize("column", [["F"], [None], ["F", None]])
def test_attribute_with_one_value(ratings, column):
    """An attribute that everybody shares has nothing to hide: refused as data."""
    same = with_attributes(ratings, {"gender": np.resize(column, ratings.n_users)})
    with pytest.raises(DataError, match="at least two values"):
        StandardScheme(**SMALL).fit(same)


def test_unknown_attribute(ratings):
    """An attribute that the data does not have is refused with the ones it has."""
    with pytest.raises(DataError, match="one of: gender"):
        StandardScheme(attributes=["age"], **SMALL).fit(ratings)


def test_rare_value():
    """With a value of a few people the tables are finite, and such a model is refused."""
    data = generated(users=80, items=40, ratings=1600, seed=4)
    few = with_attributes(data, {"gender": ["X", "X", *["F", "M"] * 39]})
    people, _ = find_consenting_people(few, ["gender"])
    assert people.values == (("F", "M", "X"),)
    assert np.isfinite(estimate_all_tables(people)["gender"].keep).all()
    with pytest.raises(ConfigError, match="rarest value is 'X' of gender, with 2 people"):
        StandardScheme(**SMALL).fit(few)


def test_exchange_crosses_in_bytes(ratings, history, monkeypatch):
    """Both messages of an exchange go through their bytes, and the list is made from them."""
    model = StandardScheme(**SMALL).fit(ratings)
    decoded = []

    class Watched(Release):
        @classmethod
        def decode(cls, data):
            decoded.append(data)
            return Release.decode(data)

    monkeypatch.setattr(module, "Release", Watched)
    made = model.exchange(history, {"gender": "F"})
    assert decoded[0] == made.release.encode()
    answered = model.server_.score(Release.decode(decoded[0]))
    assert made.scores == answered


def test_exchange_remembers(ratings, history):
    """With one memory, two exchanges send the same bytes and give the same list."""
    model, memory = StandardScheme(**SMALL).fit(ratings), State(created=0)
    first, second = (model.exchange(history, {"gender": "F"}, memory=memory) for _ in range(2))
    assert first == second
    assert set(memory.records) <= set(history)


def test_list_from_far_away(ratings, history):
    """A list from a release leaves out what was seen and excluded, among the candidates."""
    model = StandardScheme(**SMALL).fit(ratings)
    unseen = [item for item in ratings.item_ids.tolist() if item not in history]
    made = model.recommend(
        7,
        history=history,
        attributes={"gender": "F"},
        n=100,
        exclude=unseen[:5],
        candidates=[*unseen[:20], *history],
    )
    assert sorted(made.item_ids) == unseen[5:20]
    assert {row.user_id for row in made} == {7}


def test_wrong_attribute_value(ratings, history):
    """A value that was not in training is refused as data, with the known ones."""
    model = StandardScheme(**SMALL).fit(ratings)
    with pytest.raises(DataError, match="F, M"):
        model.recommend(history=history, attributes={"gender": "X"})


def test_stars_off_the_scale(ratings):
    """Stars off the scale are refused, near and far."""
    model = StandardScheme(**SMALL).fit(ratings)
    for attributes in (None, {"gender": "F"}):
        with pytest.raises(DataError, match="1:5:1"):
            model.recommend(history={1: 5.5}, attributes=attributes)


def test_order_of_the_history_says_nothing(ratings, history):
    """The same history in another order gives the same list."""
    model = StandardScheme(**SMALL).fit(ratings)
    turned = dict(reversed(history.items()))
    assert model.recommend(history=history) == model.recommend(history=turned)


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("epsilon", [math.inf, 100.0])
@pytest.mark.parametrize("release", ["scheme+selection+rounding", "coupling"])
def test_person_never_gets_an_epsilon(ratings, variant, epsilon, release):
    """The card of the person who hides has no epsilon and calls nothing proved."""
    if variant == "published" and epsilon < math.inf:
        with pytest.raises(ConfigError, match="sound variant"):
            StandardScheme(variant=variant, disclosure_epsilon=epsilon)
        return
    model = StandardScheme(
        variant=variant, disclosure_epsilon=epsilon, release=release, **SMALL
    ).fit(ratings)
    person, others = model.guarantees()
    assert (person.epsilon, person.delta) == (None, None)
    assert person.basis is (Basis.REFUTED if variant == "published" else Basis.UNMEASURED)
    assert bool(person.claims) == (variant == "published")
    assert others.epsilon == (None if epsilon == math.inf else 100.0)
    assert "differential" not in json.dumps(person.to_dict())
    assert "harder to guess, not hidden" in person.protects
    assert "still guess" in person.trust


def test_a_card_without_measurements_speaks_of_none(ratings):
    """Where no attack was tried the card says so; it says for whom it is, and has no epsilon."""
    model = StandardScheme(**SMALL).fit(ratings)
    unmeasured = model.guarantees()[0]
    assert "below" not in unmeasured.sentence
    assert "was not measured" in unmeasured.sentence
    model.add_measurements([Measurement("lda", "raw", model.release, 0.5, 0.4, 0.6, "600 people")])
    measured = model.guarantees()[0]
    assert "The attacks below" in measured.sentence
    for card in (unmeasured, measured):
        assert card.sentence.startswith("Only for services that do not otherwise learn")
        assert card.sentence.endswith("No epsilon.")


def test_cards_need_a_fit():
    """No card before there is something to speak of."""
    with pytest.raises(NotFittedError):
        StandardScheme().guarantees()


def test_infinite_epsilon_is_the_exact_twin(ratings):
    """At epsilon infinity the disclosure is that of the scheme without any noise."""
    exact = StandardScheme(**SMALL).fit(ratings)
    twin = StandardScheme(disclosure_epsilon=math.inf, contributions=1, **SMALL).fit(ratings)
    assert twin.disclosure_.encode() == exact.disclosure_.encode()
    people, _ = find_consenting_people(ratings, ["gender"])
    tables = estimate_all_tables(people)["gender"]
    np.testing.assert_array_equal(exact.fitted_.tables["gender"].offsets, tables.offsets)


def test_private_disclosure_is_noisy(ratings):
    """At a finite epsilon two disclosures of the same people differ, in spite of the seed."""
    made = [StandardScheme(disclosure_epsilon=100, **SMALL).fit(ratings) for _ in range(2)]
    assert made[0].disclosure_.digest != made[1].disclosure_.digest


def test_the_card_of_a_private_disclosure_names_the_refusal_of_a_refit(ratings):
    """It is decided by the exact number of changed people, so the epsilon does not cover it."""
    consenting = StandardScheme(disclosure_epsilon=100, **SMALL).fit(ratings).guarantees()[1]
    assert any("refused if 1 to 49 people changed" in text for text in consenting.not_covered)


def test_seed_places_the_start_alone(ratings):
    """One seed, one disclosure; a device's draws take no seed."""
    made = [StandardScheme(random_state=5, **SMALL).fit(ratings) for _ in range(2)]
    assert made[0].disclosure_.encode() == made[1].disclosure_.encode()
    history = ratings.history(1)
    sent = {made[0].exchange(history, {"gender": "F"}).release for _ in range(5)}
    assert len(sent) > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributes": ()},
        {"attributes": ("gender", "gender")},
        {"variant": "other"},
        {"release": "other"},
        {"disclosure_epsilon": 0.0},
        {"disclosure_epsilon": -1.0},
        {"disclosure_epsilon": math.nan},
        {"contributions": 0},
        {"disclosure_epsilon": 16.0, "attributes": ("a", "b")},
        {"factors": 0},
    ],
    ids=str,
)
def test_settings_in_range(wrong):
    """Settings that make no sense are refused before any data is read."""
    with pytest.raises(ConfigError):
        StandardScheme(**wrong)
