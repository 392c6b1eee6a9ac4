"""Messages between vendors have one spelling, and nothing but messages gets in."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.pdap.messages import (
    LARGEST_MESSAGE,
    MOST_FEATURES,
    MOST_REWARD,
    MOST_SLICES,
    NO_NOISE,
    REASONS,
    Forward,
    MessageError,
    Offer,
    Refusal,
    Reward,
    decode_answer,
)

REQUEST = bytes(range(16))
FORWARD = Forward(REQUEST, 1_000_000, 2, (0, 1))
OFFER = Offer(REQUEST, "Amélie")
REWARD = Reward(REQUEST, -581_977)
REFUSAL = Refusal(REQUEST, "busy")
GOLDEN = {
    "forward": (
        FORWARD,
        "0101000102030405060708090a0b0c0d0e0f000f4240000000020002000000000001",
    ),
    "offer": (OFFER, "0102000102030405060708090a0b0c0d0e0f0007416dc3a96c6965"),
    "reward": (REWARD, "0103000102030405060708090a0b0c0d0e0ffffffffffff71ea7"),
    "refusal": (REFUSAL, "0104000102030405060708090a0b0c0d0e0f04"),
}
requests = st.binary(min_size=16, max_size=16)
forwards = st.integers(1, MOST_SLICES).flatmap(
    lambda slices: st.builds(
        Forward,
        requests,
        st.integers(0, NO_NOISE),
        st.just(slices),
        st.lists(st.integers(0, slices - 1), max_size=20).map(tuple),
    )
)
offers = st.builds(Offer, requests, st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
rewards = st.builds(Reward, requests, st.integers(-MOST_REWARD, MOST_REWARD))
refusals = st.builds(Refusal, requests, st.sampled_from(REASONS))
messages = st.one_of(forwards, offers, rewards, refusals)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes(name):
    """Every message has exactly these bytes, and they are read back."""
    message, golden = GOLDEN[name]
    assert message.encode().hex() == golden
    assert type(message).decode(bytes.fromhex(golden)) == message


@given(messages)
def test_round_trip(message):
    """What was encoded is decoded to the same message."""
    assert type(message).decode(message.encode()) == message


@given(messages, st.data())
def test_one_spelling(message, data):
    """Changed bytes are refused, or are another message's only spelling."""
    raw = bytearray(message.encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    try:
        found = type(message).decode(bytes(raw))
    except MessageError:
        return
    assert found.encode() == bytes(raw)
    assert found != message


@given(st.binary(max_size=80))
def test_any_bytes_are_refused_in_one_way(data):
    """Whatever bytes come, they are a message or raise MessageError, and nothing else."""
    for kind in (Forward, Offer, Reward, Refusal):
        with contextlib.suppress(MessageError):
            assert kind.decode(data).encode() == data


@given(messages, st.integers(1, 40))
def test_cut_or_longer_is_refused(message, count):
    """A message that was cut short, or goes on, is none."""
    raw = message.encode()
    with pytest.raises(MessageError):
        type(message).decode(raw[:-count])
    with pytest.raises(MessageError):
        type(message).decode(raw + bytes(count))


@pytest.mark.parametrize("video", ["", "é" * 129])
def test_both_bounds_of_a_name_are_told(video):
    """A name that is empty or too long is refused in a sentence with both bounds."""
    with pytest.raises(MessageError, match="a video's name has 1 to 256 bytes of UTF-8"):
        Offer(REQUEST, video)


def test_an_answer_is_an_offer_or_a_refusal():
    """Answers are told apart by their kind."""
    assert decode_answer(OFFER.encode()) == OFFER
    assert decode_answer(REFUSAL.encode()) == REFUSAL
    with pytest.raises(MessageError):
        decode_answer(REWARD.encode())


def test_the_largest_message_is_bounded():
    """No message is longer than LARGEST_MESSAGE, below 64 KiB, and longer ones are not read."""
    whole = Forward(REQUEST, 0, 2, (1,) * MOST_FEATURES).encode()
    assert len(whole) <= LARGEST_MESSAGE <= 1 << 16
    with pytest.raises(MessageError, match="at most"):
        Forward.decode(bytes(LARGEST_MESSAGE + 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Forward(b"short", 1, 2, (0,)),
        lambda: Forward(REQUEST, -1, 2, (0,)),
        lambda: Forward(REQUEST, 1, 0, ()),
        lambda: Forward(REQUEST, 1, 2, (2,)),
        lambda: Forward(REQUEST, 1, 2, [0]),
        lambda: Forward(REQUEST, 1, 2, (0.0,)),
        lambda: Forward(REQUEST, 1, 2, (0,) * (MOST_FEATURES + 1)),
        lambda: Offer(REQUEST, ""),
        lambda: Offer(REQUEST, "x" * 257),
        lambda: Offer(REQUEST, "\ud800"),
        lambda: Reward(REQUEST, 1.5),
        lambda: Reward(REQUEST, MOST_REWARD + 1),
        lambda: Reward.from_number(REQUEST, float("nan")),
        lambda: Refusal(REQUEST, "because"),
    ],
)
def test_what_does_not_hold_together_is_refused(make):
    """Every field is checked when a message is made."""
    with pytest.raises(MessageError):
        make()


def test_a_huge_reward_is_cut():
    """A finite reward always fits a message."""
    for huge in (1e300, 1e304, 10**400):
        assert Reward.from_number(REQUEST, huge).reward == MOST_REWARD
        assert Reward.from_number(REQUEST, -huge).reward == -MOST_REWARD
    assert Reward.from_number(REQUEST, 0.25).reward == 250_000


def test_a_forward_says_the_middle_of_its_slices():
    """The context that is read from a forward lies in the middle of each slice."""
    assert FORWARD.context() == (0.25, 0.75)
