"""Messages have one spelling, and nothing but messages gets in."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.messages import (
    MICRO,
    NO_NOISE,
    WHOLE,
    Campaign,
    Clusters,
    MessageError,
    Report,
    catalogue_digest,
    exposed_bits,
)
from tacit.errors import ConfigError

CAMPAIGN = Campaign(
    method="multi-maxsense",
    unit="user",
    n_items=40,
    rated=4,
    theta=1_000_000,
    questions=2,
    epsilon=1_000_000,
    liked_from=4000,
    truth=5_606_615_224_107_920,
    closes=2_000_000_000,
    seed=bytes(range(16)),
    catalogue_digest=catalogue_digest(range(40)),
)
REPORT = Report(CAMPAIGN.id, 0x0123456789ABCDEF, 2)
RATED = Report(CAMPAIGN.id, 7, 1, (3, 39))
CLUSTERS = Clusters(
    CAMPAIGN.digest, CAMPAIGN.catalogue_digest, bytes([0, 1, 1]), (-5, 0, 1_000_000)
)
GOLDEN_CAMPAIGN = (
    "74636974010100000000002800000004000f424000000002000f424000000fa00013eb2fd4d34390"
    "0000000077359400000102030405060708090a0b0c0d0e0f13733ca6f5e5307a98929efe182c56ba"
    "4a93e31db0cdb7ab2a5654031308f578"
)
GOLDEN_REPORT = "01024c2791624e1d7f9e0123456789abcdef00000002"
GOLDEN_RATED = "01024c2791624e1d7f9e0000000000000007000000010000000300000027"
GOLDEN_CLUSTERS = (
    "74636974020300004c2791624e1d7f9e158e0de63f6f753e2bf02bdba1abf9cda39a17c528fc439c"
    "13733ca6f5e5307a98929efe182c56ba4a93e31db0cdb7ab2a5654031308f578"
    "00000003000101fffffffb00000000000f4240"
)
GOLDEN_CATALOGUE = "9c075e084a4b4969bac68d6c6ea22ef0c547adba1d612ac00e84312a1a918bb6"
GOLDEN = {
    "campaign": (CAMPAIGN, GOLDEN_CAMPAIGN),
    "report": (REPORT, GOLDEN_REPORT),
    "rated report": (RATED, GOLDEN_RATED),
    "clusters": (CLUSTERS, GOLDEN_CLUSTERS),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes(name):
    """Every message has exactly these bytes, and they are read back."""
    message, golden = GOLDEN[name]
    assert message.encode().hex() == golden
    assert type(message).decode(bytes.fromhex(golden)) == message


def test_golden_catalogue():
    """Ids are hashed with their type and length: 1 is not '1', and joints do not slip."""
    assert catalogue_digest([1, "1"]).hex() == GOLDEN_CATALOGUE
    assert len({catalogue_digest(ids) for ids in ([1], ["1"], ["1", ""], ["", "1"], ["i1"])}) == 5


def test_half_characters_have_a_digest():
    """An id that UTF-8 has no bytes for is told apart like any other, and nothing breaks."""
    assert catalogue_digest(["\ud800"]) != catalogue_digest(["\udfff"])


def test_a_catalogue_names_items_once():
    """A design with an item twice is refused, and 1 is the same item as True."""
    for twice in (["a", "b", "a"], [1, True, 2]):
        with pytest.raises(ConfigError, match="once"):
            new_campaign(twice, rated=1, epsilon=1.0)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_report_round_trip(ticket, bits):
    """A report comes back as it was sent."""
    sent = Report(CAMPAIGN.id, ticket, bits)
    assert Report.decode(sent.encode()) == sent


@given(st.binary(max_size=120))
def test_noise_is_no_message(data):
    """Bytes that are no message raise MessageError, and a message's bytes are its own."""
    for kind in (Campaign, Report, Clusters):
        try:
            message = kind.decode(data)
        except MessageError:
            continue
        assert message.encode() == data


@pytest.mark.parametrize("name", GOLDEN)
def test_cut_messages_are_refused(name):
    """A message that ends early, at any byte, or late, is refused."""
    message, golden = GOLDEN[name]
    data = bytes.fromhex(golden)
    for wrong in [*(data[:end] for end in range(len(data)) if end != 22), data + b"\0"]:
        with pytest.raises(MessageError):
            type(message).decode(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "maxsense"},
        {"unit": "household"},
        {"n_items": 1},
        {"n_items": 2**31},
        {"rated": 0},
        {"rated": 41},
        {"theta": 0},
        {"questions": 0},
        {"questions": 33},
        {"questions": 2.0},
        {"questions": True},
        {"theta": 3_000_000},  # two sets of 31 places do not fit on a wheel of 41
        {"epsilon": 0},
        {"epsilon": 999_999},  # this truth costs more
        {"truth": 5_606_615_224_107_921},  # one part of 2^53 too many
        {"truth": WHOLE},
        {"truth": WHOLE // 2 - 1},
        {"epsilon": NO_NOISE},
        {"liked_from": 2**31},
        {"seed": b"short"},
        {"catalogue_digest": b"short"},
        {"method": "pairwise-preference"},  # with a theta
        {"method": "pairwise-rated", "theta": 0},  # with two questions
    ],
)
def test_impossible_campaigns_are_refused(wrong):
    """A campaign that does not hold together is not made, whoever sends it."""
    with pytest.raises(MessageError):
        replace(CAMPAIGN, **wrong)


@given(
    st.floats(1e-5, 12),
    st.integers(1, 32),
    st.sampled_from(["user", "rating", "moved rating"]),
    st.integers(1, 20),
)
def test_designs_keep_epsilon(epsilon, questions, unit, rated):
    """The loss of all exposed bits is at most the stated epsilon, and hardly less, in decimals."""
    made = new_campaign(
        range(2000), rated=rated, theta=0.5 / 32, epsilon=epsilon, questions=questions, unit=unit
    )
    bits = exposed_bits("multi-maxsense", unit, questions, rated)
    loss = bits * (Decimal(made.truth) / Decimal(WHOLE - made.truth)).ln()
    assert made.epsilon <= epsilon * MICRO * (1 + 1e-11)
    assert loss * MICRO <= made.epsilon
    assert float(loss * MICRO) > made.epsilon * (1 - 1e-9) - 1e-4


@pytest.mark.parametrize("digits", [4, 28])
def test_keeping_epsilon_is_decided_exactly(digits):
    """A chance that is too high by a millionth is seen, whatever digits the caller works with."""
    with localcontext() as context:
        context.prec = digits
        made = new_campaign(range(40), rated=4, epsilon=1.000001)
        with pytest.raises(MessageError, match="higher than epsilon allows"):
            replace(made, epsilon=1_000_000)
        assert replace(made, epsilon=1_000_002).truth == made.truth


def test_twin_without_noise():
    """An infinite epsilon is its own campaign: every bit as it is."""
    made = new_campaign(range(40), rated=4, epsilon=math.inf)
    assert (made.truth, made.epsilon) == (WHOLE, NO_NOISE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"epsilon": 5000},
        {"epsilon": 1e305},
        {"epsilon": 1e-9},
        {"method": "guess"},
        {"unit": "household"},
        {"rated": 0},
        {"rated": 41},
        {"questions": 40},
        {"theta": 30.0},
        {"theta": math.inf},
        {"theta": math.nan},
        {"liked_from": math.nan},
        {"seed": b""},
    ],
)
def test_impossible_designs_are_refused(wrong):
    """What no campaign can be made of is a configuration error."""
    with pytest.raises(ConfigError):
        new_campaign(range(40), **({"rated": 4, "epsilon": 1.0} | wrong))


@pytest.mark.parametrize(
    ("method", "unit", "questions", "rated", "bits"),
    [
        ("multi-maxsense", "user", 3, 1, 2),
        ("multi-maxsense", "user", 6, 2, 4),
        ("multi-maxsense", "user", 6, 50, 6),
        ("multi-maxsense", "rating", 6, 2, 1),
        ("multi-maxsense", "moved rating", 6, 2, 2),
        ("multi-maxsense", "moved rating", 1, 2, 1),
        ("pairwise-preference", "rating", 3, 2, 3),
    ],
)
def test_exposed_bits(method, unit, questions, rated, bits):
    """How many bits neighbouring inputs differ in, by unit."""
    assert exposed_bits(method, unit, questions, rated) == bits


def test_report_says_nothing_more():
    """A report is version, kind, campaign, ticket and bits: 22 bytes."""
    assert len(REPORT.encode()) == 22


@pytest.mark.parametrize(
    "wrong",
    [
        {"ticket": -1},
        {"ticket": 2**64},
        {"bits": 2**32},
        {"bits": True},
        {"campaign": b"1234567"},
        {"pair": (1, 1)},
        {"pair": (2, 1)},
        {"pair": [1, 2]},
    ],
)
def test_impossible_reports_are_refused(wrong):
    """A report out of bounds is not made."""
    with pytest.raises(MessageError):
        replace(REPORT, **wrong)
