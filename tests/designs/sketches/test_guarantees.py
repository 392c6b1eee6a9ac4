"""The cards' epsilons, against every answer the shipped device can give on small catalogues."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tacit.auditing import exact_losses
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, Limits
from tacit.designs.sketches.guarantees import bit_loss, cards, changed_bits
from tacit.designs.sketches.messages import MICRO, RATED_METHODS, UNITS, WHOLE
from tacit.designs.sketches.sensing import pairs, sensed_sets
from tacit.errors import ConfigError
from tacit.privacy import Basis

N = 4  # five places on the wheel, so up to five sets of one place
EPSILON = 1.0
ANY = Limits(epsilon=50, lifetime=500, units=UNITS, rated_pairs=True)
WORLDS = list(itertools.product((0, 1), repeat=N))
SECRETS = [bytes([n]) * 32 for n in range(40)]


def neighbours(unit):
    """Pairs of like-vectors that differ as the unit says, each once."""
    for one, other in itertools.combinations(WORLDS, 2):
        differing = [i for i in range(N) if one[i] != other[i]]
        if (
            unit == "user"
            or (unit == "rating" and len(differing) == 1)
            or (unit == "moved rating" and len(differing) == 2 and sum(one) == sum(other))
        ):
            yield one, other


def distribution(made, secret, likes, rated=None):
    """Exact chances of the report, by running the device for every fall of its coins."""
    history = {i: 5.0 if like else 1.0 for i, like in enumerate(likes) if rated is None or rated[i]}
    truth = Fraction(made.truth, WHOLE)
    found = {}
    for lies in itertools.product((0, 1), repeat=made.questions):
        device = Device(secret, {}, ANY, coin=lambda q, lies=lies: WHOLE - 1 if lies[q] else 0)
        report = device.report(made, range(N), history).encode()
        chance = math.prod((1 - truth if lie else truth) for lie in lies)
        found[report] = found.get(report, 0) + chance
    return found


def telling(made):
    """Three secrets, one of them with as many items in its sets as any can have."""

    def sensed(secret):
        ticket = Device(secret, {}, ANY).report(made, range(N), {}).ticket
        return (
            sum(map(bool, sensed_sets(made, ticket)))
            if made.asks_about_sets
            else len({item for pair in pairs(made, ticket) for item in pair})
        )

    return [SECRETS[0], SECRETS[1], max(SECRETS, key=sensed)]


def worst(made, unit):
    """The largest loss over all neighbours and several secrets, hence questions."""
    losses = []
    for secret in telling(made):
        shown = {likes: distribution(made, secret, likes) for likes in WORLDS}
        losses += [
            exact_losses.exact_loss(shown[one], shown[other]) for one, other in neighbours(unit)
        ]
    return max(losses)


def made_for(unit, questions, rated, method="multi-maxsense"):
    """Sets of one place each."""
    return new_campaign(
        range(N),
        rated=rated,
        theta=rated / 5,
        questions=questions,
        epsilon=EPSILON,
        unit=unit,
        method=method,
        seed=bytes(16),
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("questions", [1, 2, 3, 4])
@pytest.mark.parametrize("rated", [1, 2, 4])
def test_epsilon_is_kept_exactly(unit, questions, rated):
    """For every Q, w and unit: never more than stated, and the card's number is reached."""
    made = made_for(unit, questions, rated)
    card = cards(made)[UNITS.index(unit)]
    loss = worst(made, unit)
    assert loss <= made.epsilon / MICRO * (1 + 1e-12)
    assert card.epsilon <= made.epsilon / MICRO * (1 + 1e-12)
    assert loss <= card.epsilon * (1 + 1e-12)
    assert loss == pytest.approx(card.epsilon, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_every_card_of_a_campaign_holds(unit):
    """Also for the units that the campaign was not calibrated for, with likes capped."""
    made = made_for("user", 3, 2)
    card = cards(made)[UNITS.index(unit)]
    assert worst(made, unit) == pytest.approx(card.epsilon, rel=1e-9)


def test_a_full_epsilon_for_every_bit_is_caught():
    """The planted fault: bits that each cost epsilon break the unit user, as the spec has it."""
    faulty = made_for("rating", 3, 4)  # every bit may cost all of epsilon, for a rating
    assert worst(faulty, "user") > 2.5 * EPSILON
    assert cards(faulty)[0].epsilon > 2.5 * EPSILON


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("questions", [1, 2])
@pytest.mark.parametrize("method", ["pairwise-preference", "pairwise-identical"])
def test_pairs_keep_epsilon(unit, questions, method):
    """Random pairs, which may share an item: charged for every question."""
    made = made_for(unit, questions, 4, method)
    loss = worst(made, unit)
    assert loss <= cards(made)[UNITS.index(unit)].epsilon * (1 + 1e-12)
    if unit == "user":
        assert loss == pytest.approx(made.epsilon / MICRO, rel=1e-6)


@pytest.mark.parametrize("method", RATED_METHODS)
def test_values_of_rated_pairs(method):
    """Given the rated set: epsilon for the stars. For the set itself: nothing at all."""
    made = made_for("user", 1, 4, method)
    (card,) = cards(made)
    rated = (1, 1, 1, 0)
    values = [likes for likes in WORLDS if not likes[3]]
    shown = [distribution(made, SECRETS[0], likes, rated) for likes in values]
    loss = max(exact_losses.exact_loss(p, q) for p, q in itertools.combinations(shown, 2))
    assert loss == pytest.approx(card.epsilon, rel=1e-9)
    everything = (1, 1, 1, 1)
    one, other = (
        distribution(made, SECRETS[0], everything, rated) for rated in ((0, 0, 1, 1), (1, 1, 0, 0))
    )
    assert exact_losses.exact_loss(one, other) == math.inf
    assert card.basis is Basis.CONDITIONAL
    assert "NOT which items" in card.protects


def test_only_questions_of_chance_are_said_not_to_depend_on_you():
    """A pair of rated items does depend on them, and its card does not say otherwise."""
    chosen, asked = (
        " ".join(cards(made_for("user", 1, 4, method))[0].not_covered)
        for method in ("pairwise-rated", "pairwise-preference")
    )
    assert "do not depend on you" in asked
    assert "do not depend on you" not in chosen
    assert "the question depends on you" in chosen


def test_a_factor_beyond_all_floats_is_a_power_of_e():
    """32 bits of epsilon 25 for one rating: 800 for everything, which has a card like any other."""
    made = new_campaign(range(40), rated=4, theta=0.01, questions=32, epsilon=25, unit="rating")
    everything, rating, _ = cards(made)
    assert everything.epsilon == pytest.approx(800)
    assert "at most e^800 times as likely" in everything.sentence
    assert "at most 7.201e+10 times as likely" in rating.sentence


def test_bit_loss():
    """The loss of one bit is that of its chance, and inf without noise has no card."""
    made = new_campaign(range(N), rated=2, epsilon=math.log(3), theta=0.4)
    assert bit_loss(made) == pytest.approx(math.log(3), abs=1e-6)
    with pytest.raises(ConfigError):
        cards(new_campaign(range(N), rated=2, epsilon=math.inf, theta=0.4))


@pytest.mark.parametrize(
    ("unit", "of", "bits"),
    [
        ("user", "user", 3),
        ("user", "rating", 2),
        ("rating", "rating", 1),
        ("rating", "user", 3),
        ("rating", "moved rating", 2),
    ],
)
def test_changed_bits(unit, of, bits):
    """What three questions cost, by the unit of the campaign and of the card."""
    assert changed_bits(made_for(unit, 3, 2), of) == bits
