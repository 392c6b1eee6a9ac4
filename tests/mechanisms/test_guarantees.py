"""The cards of the mechanisms: computed from events, complete, and valid for a machine."""

from __future__ import annotations

import json
import math
import re
from importlib import resources

import jsonschema
import pytest

from tacit.accounting import Gaussian, GDPAccountant, ZCDPAccountant, smallest_noise
from tacit.auditing.shipped_mechanisms import MECHANISMS
from tacit.errors import ConfigError
from tacit.mechanisms import guarantees
from tacit.mechanisms.guarantees import NAMES, guarantee_of
from tacit.mechanisms.randomized_response import BitRelease
from tacit.privacy import Basis, Trust

SCHEMA = json.loads(resources.files("tacit.privacy").joinpath("guarantee.schema.json").read_text())
WITH_DELTA = ("gaussian", "gram", "sums")


def card(name, epsilon=1.0):
    return guarantee_of(name, epsilon=epsilon, delta=1e-6 if name in WITH_DELTA else None)


def test_every_audited_mechanism_has_a_card():
    """What the audit's bench lists has a card under the same name."""
    assert set(MECHANISMS) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_cards_fit_the_schema(name):
    """Every card is proved and fits the published schema, after a round through JSON."""
    assert card(name).basis is Basis.PROVED
    jsonschema.validate(json.loads(json.dumps(card(name).to_dict())), SCHEMA)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_epsilon_is_what_was_asked_for(name, epsilon):
    """The event costs what was asked for, up to rounding and six digits of a multiplier."""
    stated = card(name, epsilon)
    assert stated.epsilon == pytest.approx(epsilon, rel=2e-5)
    assert stated.epsilon <= epsilon * (1 + 1e-12)


def test_epsilon_comes_from_the_event():
    """Beyond what 53 bits can tell apart, a bit costs less than was asked for, and it says so."""
    truth = float(BitRelease(100.0).truth)
    assert card("bit-release", 100.0).epsilon == pytest.approx(math.log(truth / (1 - truth)))
    assert card("bit-release", 100.0).epsilon < 37


def built_weaker(name, factor, monkeypatch):
    terms = guarantees.TERMS[name]
    weaker = {**vars(terms), "build": lambda option: terms.build(option * factor)}
    monkeypatch.setitem(guarantees.TERMS, name, guarantees.Terms(**weaker))


@pytest.mark.parametrize("name", ["laplace", "tree-counter"])
def test_a_weaker_mechanism_has_a_larger_epsilon(name, monkeypatch):
    """With half the noise built in, the card's epsilon grows: the option is not copied."""
    built_weaker(name, 2.0, monkeypatch)
    assert card(name).epsilon > 1.9


def multiplier(stated):
    return float(stated.assumptions[0].split("noise multiplier ")[1].split(";")[0])


GAUSSIAN = ["gaussian", "gram", "sums"]


@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_weaker_mechanism_needs_a_larger_multiplier(name, monkeypatch):
    """With half the noise built in, the card asks for twice the noise: it is what the mechanism
    costs that is held against epsilon."""
    before = multiplier(card(name))
    built_weaker(name, 0.5, monkeypatch)
    assert multiplier(card(name)) == pytest.approx(2 * before, rel=1e-5)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_stated_multiplier_costs_the_stated_epsilon(name):
    """Whoever builds the mechanism with the number on the card pays what the card says."""
    stated = card(name)
    event = guarantees.TERMS[name].build(multiplier(stated)).event
    assert GDPAccountant().add(event).epsilon(1e-6) == stated.epsilon


@pytest.mark.parametrize("name", ["gram", "sums"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_fine_grid_is_priced_as_continuous_noise(name, epsilon):
    """The noise is that of the Gaussian mechanism within a thousandth; zCDP would ask for 5 per
    cent more."""
    exact, summed = (
        smallest_noise(Gaussian, epsilon=epsilon, delta=1e-6, accountant=accountant)
        for accountant in (GDPAccountant, ZCDPAccountant)
    )
    found = multiplier(card(name, epsilon))
    assert exact <= found <= 1.001 * exact
    assert found < 0.95 * summed


def test_any_delta_below_one_is_taken():
    """A large delta is a weak claim, and no wrong one."""
    assert guarantee_of("gaussian", epsilon=1.0, delta=0.9).delta == 0.9


def test_delta_is_stated_where_there_is_one():
    """Gaussian noise states the delta that was given, everything else zero."""
    for name in NAMES:
        assert card(name).delta == (1e-6 if name in WITH_DELTA else 0.0)


def grid_of(mechanism):
    return [mechanism.lower, mechanism.upper, mechanism.resolution]


STATED = {
    "bit-release": lambda _: [],
    "kary-response": lambda made: [made.categories],
    "laplace": grid_of,
    "gaussian": grid_of,
    "selection": lambda made: [made.candidates, made.lower, made.upper],
    "top-selection": lambda made: [made.k] * 2 + STATED["selection"](made.choice),
    "tree-counter": lambda made: [made.horizon, 0, made.bound],
    "threshold-gate": lambda made: [made.threshold],
    "gram": lambda made: [made.items, made.norm, 1, 1 / made.resolution],
    "sums": lambda made: [made.rows, made.width, made.norm, 1, 1 / made.resolution],
}
"""Of a mechanism, the numbers of its card's words, in their order."""


def numbers(words):
    return [float(number) for number in re.findall(r"-?\d+", words)]


@pytest.mark.parametrize("name", NAMES)
def test_the_words_state_the_mechanism_that_is_priced(name):
    """Every number in the words for parameters and sensitivity is that of what `build` makes."""
    terms = guarantees.TERMS[name]
    made = terms.build(1.0)
    assert numbers(terms.parameters) == STATED[name](made)
    stated = getattr(getattr(made, "choice", made), "sensitivity", None)
    assert numbers(terms.sensitivity) == ([] if stated is None else [stated])


def test_a_scores_card_has_a_step_of_one():
    """The words for scores name no resolution: they are whole numbers."""
    assert guarantees.TERMS["selection"].build(1.0).resolution == 1


def test_the_sentence_says_what_is_compared():
    """Another value where one is replaced; you not being there, or one rating of yours."""
    for name in NAMES:
        stated = card(name)
        if stated.adjacency.change == "replace":
            compared = f"if your {stated.adjacency.unit} were another one"
        elif stated.adjacency.unit == "user":
            compared = "if you were not in the data"
        else:
            compared = f"if one {stated.adjacency.unit} of yours were not in the data"
        assert f"as it would be {compared}" in stated.sentence


def test_release_and_lifetime_are_told_apart():
    """Epsilon is per release; over a lifetime there is none, and the card says so."""
    for name in NAMES:
        stated = card(name)
        assert stated.lifetime_epsilon is None
        assert "no epsilon over a lifetime" in stated.lifetime


def test_only_local_mechanisms_need_no_trust():
    """Randomized response runs at the person's; the others see raw data."""
    trusted = {name for name in NAMES if card(name).trust is Trust.PLATFORM}
    assert trusted == set(NAMES) - {"bit-release", "kary-response"}


def test_sentence_has_the_factor():
    """The sentence says how much likelier: 3 times at ln 3, and a power where that is huge."""
    assert "at most 3 times" in card("bit-release", math.log(3)).sentence
    assert "at most e^800 times" in card("laplace", 800.0).sentence
    assert "at most 8.95e+05 times" in card("laplace", 13.704).sentence
    assert "at most e^14 times" in card("laplace", 14.0).sentence


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [(0.2, "1.23"), (0.09, "1.095"), (0.01, "1.011"), (1e-3, "1.0011"), (3e-6, "1.0000031")],
)
def test_a_small_factor_has_more_digits(epsilon, factor):
    """A factor that is rounded up to 1.01 would be that of epsilon 0.01, however small epsilon."""
    assert f"at most {factor} times" in card("laplace", epsilon).sentence


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("rot13", {"epsilon": 1.0}, "Mechanisms: bit-release"),
        ("laplace", {"epsilon": math.inf}, "finite"),
        ("laplace", {"epsilon": 0.0}, "at least 1e-09"),
        ("laplace", {"epsilon": math.nan}, "at least 1e-09"),
        ("laplace", {"epsilon": 1.0, "delta": 1e-6}, "give it no delta"),
        ("gaussian", {"epsilon": 1.0}, "give it a delta"),
        ("gram", {"epsilon": 1.0, "delta": 0.0}, "give it a delta"),
        ("gram", {"epsilon": 1.0, "delta": 1.0}, "give it a delta"),
        ("gram", {"epsilon": 1.0, "delta": math.nan}, "give it a delta"),
    ],
)
def test_refusals(name, given, said):
    """What cannot be promised is refused in a sentence."""
    with pytest.raises(ConfigError, match=said):
        guarantee_of(name, **given)
