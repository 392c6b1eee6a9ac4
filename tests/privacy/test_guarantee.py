"""A guarantee that leaves a question open cannot be made."""

from __future__ import annotations

import json
import math

import pytest

from tacit.errors import ConfigError
from tacit.privacy import (
    PANEL,
    PERMUTED,
    Adjacency,
    Basis,
    Claim,
    Guarantee,
    Measurement,
    Trust,
    sort_refuted_first,
)


def card(**changes):
    return Guarantee(
        **{
            "name": "a name",
            "sentence": "what it means",
            "protects": "your secret",
            "adjacency": Adjacency("user", "add or remove"),
            "against": "everybody",
            "trust": Trust.NOBODY,
            "basis": Basis.PROVED,
            "epsilon": 1.0,
            "delta": 0.0,
            "lifetime": "once",
            "assumptions": ("none",),
            "not_covered": ("the rest",),
            "sources": ("a paper",),
        }
        | _needed(changes.get("basis"))
        | changes
    )


def _needed(basis):
    """What a card of this basis cannot do without."""
    if basis is Basis.MEASURED:
        return {"measurements": (MEASURED,)}
    return {"claims": (Claim("eps = 0", "false", ("1",)),)} if basis is Basis.REFUTED else {}


MEASURED = Measurement("lda", "raw", "scheme", 0.5, 0.4, 0.6, "a set")
UNPROVED = [Basis.MEASURED, Basis.UNMEASURED, Basis.REFUTED, Basis.CONDITIONAL, Basis.NONE]


@pytest.mark.parametrize("pair", [(1.0, None), (None, 0.0)])
def test_epsilon_and_delta_go_together(pair):
    """An epsilon without a delta says nothing, nor a delta without an epsilon."""
    with pytest.raises(ConfigError, match="together"):
        card(epsilon=pair[0], delta=pair[1], basis=Basis.CONDITIONAL)


@pytest.mark.parametrize("basis", [Basis.PROVED, Basis.EXACT])
def test_nothing_is_proved_without_an_epsilon(basis):
    """Without an epsilon a claim is never called proved or exact."""
    with pytest.raises(ConfigError, match="proved or exact"):
        card(epsilon=None, delta=None, basis=basis)


@pytest.mark.parametrize("basis", UNPROVED)
def test_no_epsilon_is_allowed_where_none_is_claimed(basis):
    """Measured, conditional, refuted and absent claims live without an epsilon."""
    assert card(epsilon=None, delta=None, basis=basis).epsilon is None


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_epsilon_in_range(epsilon):
    """A negative, infinite or undefined epsilon is no guarantee."""
    with pytest.raises(ConfigError, match="epsilon"):
        card(epsilon=epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.1, math.nan])
def test_delta_in_range(delta):
    """A delta is a chance."""
    with pytest.raises(ConfigError, match="delta"):
        card(delta=delta)


@pytest.mark.parametrize("gap", [{"sentence": ""}, {"not_covered": ()}, {"sources": ()}])
def test_nothing_is_left_open(gap):
    """What it means, what it does not cover, and where it comes from are required."""
    with pytest.raises(ConfigError, match="what it means"):
        card(**gap)


@pytest.mark.parametrize(
    "field", ["adjacency", "against", "trust", "assumptions", "lifetime", "basis"]
)
def test_no_field_has_a_default(field):
    """Unit, adversary, trust, assumptions, lifetime and basis have to be written down."""
    given = {
        name: getattr(card(), name) for name in Guarantee.__dataclass_fields__ if name != field
    }
    with pytest.raises(TypeError, match=field):
        Guarantee(**given)


def test_a_lifetime_has_its_own_numbers():
    """Both pairs are stated side by side, for a machine too."""
    stated = card(lifetime_epsilon=10.0, lifetime_delta=1e-6).to_dict()
    assert (stated["epsilon"], stated["delta"]) == (1.0, 0.0)
    assert (stated["lifetime_epsilon"], stated["lifetime_delta"]) == (10.0, 1e-6)


def test_an_unbounded_lifetime_is_said():
    """Without a bound over a lifetime both numbers are null, whatever one release costs."""
    assert card().to_dict()["lifetime_epsilon"] is card().to_dict()["lifetime_delta"] is None


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((2.0, None), "or neither"),
        ((None, 0.0), "or neither"),
        ((0.5, 0.0), "at least what one release"),
        ((math.inf, 0.0), "finite"),
        ((2.0, 1.5), "between 0 and 1"),
    ],
)
def test_lifetime_in_range(pair, said):
    """Half a pair, less than one release costs, or no number is refused."""
    with pytest.raises(ConfigError, match=said):
        card(lifetime_epsilon=pair[0], lifetime_delta=pair[1])


def test_no_lifetime_without_a_release():
    """What has no epsilon per release has none for a lifetime."""
    with pytest.raises(ConfigError, match="per release"):
        card(
            epsilon=None,
            delta=None,
            basis=Basis.MEASURED,
            lifetime_epsilon=1.0,
            lifetime_delta=0.0,
        )


def test_plain_values():
    """A card with everything in it survives JSON without loss."""
    full = card(
        claims=(Claim("eps = 0", "false", ("one rating tells",)),),
        measurements=(Measurement("lda", "raw", "scheme", 0.5, 0.4, 0.6, "a set"),),
    ).to_dict()
    assert json.loads(json.dumps(full, allow_nan=False)) == full
    assert full["adjacency"] == {"unit": "user", "change": "add or remove"}
    assert full["claims"][0]["evidence"] == ["one rating tells"]
    assert full["measurements"][0]["auc"] == 0.5


def test_every_field_is_in_the_plain_values():
    """No field is forgotten on the way to JSON."""
    assert set(card().to_dict()) == {*Guarantee.__dataclass_fields__, "first_line"}


@pytest.mark.parametrize(
    ("basis", "changes", "said"),
    [
        (Basis.MEASURED, {"measurements": ()}, "lists measurements"),
        (Basis.UNMEASURED, {"measurements": (MEASURED,)}, "is not unmeasured"),
        (Basis.REFUTED, {"claims": ()}, "names the false claim"),
    ],
)
def test_a_basis_and_what_a_card_lists_agree(basis, changes, said):
    """Nothing is called measured without a measurement, or refuted without the claim."""
    with pytest.raises(ConfigError, match=said):
        card(epsilon=None, delta=None, basis=basis, **changes)


def test_the_first_line_states_the_basis():
    """Each basis has a first line of its own, and refuted says so with its first word."""
    lines = {basis: card(epsilon=None, delta=None, basis=basis).first_line for basis in UNPROVED}
    assert len(set(lines.values())) == len(UNPROVED)
    assert lines[Basis.REFUTED].startswith("Refuted:")
    assert lines[Basis.MEASURED].startswith("Measured, not proved")
    assert card().first_line.startswith("Proved")


def test_refuted_cards_come_first():
    """In every list of cards; the others keep their order."""
    others = [card(name="a"), card(name="b")]
    refuted = card(name="c", basis=Basis.REFUTED)
    assert [one.name for one in sort_refuted_first([*others, refuted])] == ["c", "a", "b"]


def test_words():
    """An adjacency and a measurement read as phrases."""
    assert str(Adjacency("rating", "replace")) == "replace one rating"
    line = str(Measurement("lda", "raw", "scheme", 0.5123, 0.4, 0.6, "a set"))
    assert line == (
        "lda, trained on raw data, against scheme: AUC 0.512 "
        "(95 % interval 0.400 to 0.600) on a set"
    )


def test_measurements_of_a_panel_read_as_phrases():
    """What names the two measurements of a panel is not read as the data that trained it."""
    strongest = Measurement("strongest of 8 attackers", PANEL, "scheme", 0.5, 0.4, 0.6, "a set")
    assert str(strongest).startswith("strongest of 8 attackers, against scheme: AUC 0.500")
    control = Measurement("strongest attacker", PERMUTED, "scheme", 0.5, 0.4, 0.6, "a set")
    assert str(control).startswith("strongest attacker, trained on permuted labels, against scheme")
