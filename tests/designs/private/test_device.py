"""Lists at a device: the released model's own, from a file that is checked before it is used."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tacit import container
from tacit.data import Ratings
from tacit.designs.private import Private
from tacit.designs.private.device import DeviceLists, Tastes, TopItems
from tacit.errors import ConfigError, ModelFileError

MODES = [
    ("one domain, tastes", "taste", {}, Tastes),
    ("one domain, tastes and pairs of likes", "auto", {}, Tastes),
    ("one domain, top items", "top-items", {}, TopItems),
    ("two domains, tastes", "taste", {"source": "s", "target": "t"}, Tastes),
    ("two domains, top items", "top-items", {"source": "s", "target": "t"}, TopItems),
]


def fitted(ratings: Ratings, mode: str, epsilon: float = math.inf, **settings: Any) -> Private:
    return Private(epsilon, mode=mode, **settings).fit(ratings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "mode", "settings", "kind"), MODES, ids=[m[0] for m in MODES])
def test_scores_are_the_models(
    world: Ratings, two_domains: Ratings, name: str, mode: str, settings: Any, kind: type
) -> None:
    """Up to the rounding to 16 bits, for people with many, one and no ratings."""
    ratings = two_domains if settings else world
    model = fitted(ratings, mode, **settings)
    lists = DeviceLists.decode(model.device_file())
    assert isinstance(lists.model, kind)
    assert list(lists.items) == model.item_ids_.tolist()
    for history in (ratings.history(0), ratings.history(7), {2: 5.0}, {2: 1.0}, {}):
        exact = model.predict(list(lists.items), history=history)
        assert lists.scores(history) == pytest.approx(exact, abs=1e-3 * np.abs(exact).max())


def test_popularity_is_served_alike(world: Ratings) -> None:
    """Five people are too few: everybody gets the noisy counts, also at home.

    False alarm 1e-12: lists are made from 50 noisy people on, 7 standard deviations away.
    """
    model = fitted(world.of_users(np.arange(5)), "auto", epsilon=3.0)
    lists = DeviceLists.decode(model.device_file())
    assert lists.model is None
    ids = model.recommend(history={}, n=24).item_ids
    noise = np.abs(model.released_.means).max() / 2**15
    assert lists.scores({2: 5.0}) == pytest.approx(model.released_.means, abs=noise)
    assert {item for item, _ in lists.rank({}, n=24)} == set(ids)


def test_lists_leave_out_what_is_asked(world: Ratings) -> None:
    """Rated and excluded items never come, candidates alone do, best first, ties by number."""
    model = fitted(world, "taste")
    lists = DeviceLists.decode(model.device_file())
    history = world.history(0)
    plain = lists.rank(history, n=100)
    assert {item for item, _ in plain} == set(lists.items) - set(history)
    scores = [score for _, score in plain]
    assert scores == sorted(scores, reverse=True)
    items = [item for item, _ in plain]
    assert [item for item, _ in lists.rank(history, exclude=items[:2], n=100)] == items[2:]
    chosen = lists.rank(history, candidates=items[1:6:2], n=100)
    assert [item for item, _ in chosen] == items[1:6:2]


def test_the_file_says_what_it_promises(world: Ratings) -> None:
    """It holds the model's card, its digest is that of the bytes, and no person is in it."""
    model = fitted(world, "taste")
    data = model.device_file()
    lists = DeviceLists.decode(data)
    assert lists.digest == hashlib.sha256(data[:-32]).hexdigest()
    assert lists.header["card"] == json.loads(json.dumps(model.guarantees()[0].to_dict()))
    assert fitted(world, "taste").device_file() == data


def test_a_file_is_small(two_domains: Ratings) -> None:
    """Numbers have 16 bits: tastes of 24 items in two directions are a few kilobytes."""
    assert len(fitted(two_domains, "taste", source="s", target="t").device_file()) < 8_000


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: b"other" + data,
    ],
)
def test_damaged_files_are_refused(world: Ratings, damage: Any) -> None:
    """Cut short, with a bit changed, or no such file at all: nothing of it is used."""
    with pytest.raises(ModelFileError):
        DeviceLists.decode(damage(fitted(world, "taste").device_file()))


def test_the_head_alone_is_no_file(world: Ratings) -> None:
    """Too short to hold a digest: it is said not to be such a file, rather than to be damaged."""
    with pytest.raises(ModelFileError, match="no lists of tacit"):
        DeviceLists.decode(fitted(world, "taste").device_file()[:20])


@pytest.mark.parametrize("places", [(0, 0), (0, 24), (-1, 0)], ids=["twice", "above", "below"])
def test_places_that_no_model_has_are_refused(world: Ratings, places: Any) -> None:
    """One fault is enough: a place twice, or one outside."""
    fits = fitted(world, "top-items").device_file()
    size = int.from_bytes(fits[8:16], "little")
    at = 16 + size
    for entry in json.loads(fits[16 : 16 + size])["arrays"]:
        kind = np.dtype(entry["dtype"])
        if entry["name"] == "targets":
            break
        at += kind.itemsize * math.prod(entry["shape"])
    wrong = np.array(places, kind).tobytes()
    body = fits[:at] + wrong + fits[at + len(wrong) : -32]
    with pytest.raises(ModelFileError):
        DeviceLists.decode(body + hashlib.sha256(body).digest())


def test_a_long_taste_is_cut_to_the_norm(world: Ratings) -> None:
    """Scores move as by a taste of the clip's length, where the person's own is longer."""
    lists = DeviceLists.decode(fitted(world, "taste").device_file())
    lists = replace(lists, clip=1e-3)
    assert isinstance(lists.model, Tastes)
    rows = np.array(lists.model.items)
    moved = np.array(lists.scores({2: 1.0})) - lists.scores({})
    taste, *_ = np.linalg.lstsq(rows, moved, rcond=None)
    assert np.linalg.norm(taste) == pytest.approx(1e-3 * math.sqrt(rows.shape[1]), rel=1e-3)


def forged(data: bytes, change: Any) -> bytes:
    """The same file with another header and a digest that fits it."""
    size = int.from_bytes(data[8:16], "little")
    content = json.loads(data[16 : 16 + size])
    change(content)
    text = json.dumps(content).encode()
    body = data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size : -32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["header"].update(message="other"),
        lambda c: c["header"].update(version=2),
        lambda c: c["header"].update(mode="best"),
        lambda c: c["header"]["items"].pop(),
        lambda c: c["header"].update(items=[1] * 24),
        lambda c: c["header"].update(items=[True] * 24),
        lambda c: c["header"]["units"].pop("means"),
        lambda c: c["header"]["units"].update(means="1"),
        lambda c: c["header"]["units"]["items"].pop(),
        lambda c: c["header"].update(clip=float("nan")),
        lambda c: c["header"].update(cold=-1),
        lambda c: c["arrays"].pop(),
        lambda c: c["arrays"].append({"name": "more", "dtype": "<i2", "shape": [1]}),
        lambda c: c["arrays"][0].update(shape=[25]),
        lambda c: c["arrays"][0].update(shape=[2**40]),
        lambda c: c["arrays"][0].update(shape=[-1]),
        lambda c: c["arrays"][0].update(dtype="<f8"),
        lambda c: c.pop("header"),
    ],
)
def test_forged_files_are_refused(world: Ratings, change: Any) -> None:
    """A digest anybody can make: what does not fit together is refused all the same."""
    data = fitted(world, "taste").device_file()
    DeviceLists.decode(forged(data, lambda content: None))
    with pytest.raises(ModelFileError):
        DeviceLists.decode(forged(data, change))


def test_odd_questions_are_refused(world: Ratings) -> None:
    """Stars off the scale, and a list of nothing."""
    lists = DeviceLists.decode(fitted(world, "taste").device_file())
    for stars in (0.0, 6.0, math.nan):
        with pytest.raises(ConfigError, match="between 1 and 5"):
            lists.rank({1: stars})
    with pytest.raises(ConfigError, match="at least one"):
        lists.rank({}, n=0)


HEADER = {
    "message": "private-lists",
    "version": 1,
    "items": ["p", "q"],
    "context": ["a", "b", "c"],
    "cold": 0,
    "scale": [1, 5],
    "liked_from": 4,
    "low": 0.5,
    "clip": 100,
    "beside": 3.0,
    "named_features": 1,
}
TASTE = {
    "mode": "taste",
    "units": {"means": 0.5, "mean": 0.25, "damping": 0.5, "directions": [1, 0.5], "items": [2, 1]},
}
TASTE_ARRAYS = {
    "means": [2, 4],
    "mean": [1, 2, 4],
    "offsets": [0, 1, 1, 3],
    "columns": [0, 0, 2],
    "directions": [[1, 0], [0, 4], [2, 2]],
    "items": [[1, 1], [0, 3]],
    "damping": [2, 6, 4],
}
TOP = {"mode": "top-items", "units": {"means": 0.5, "weights": [1, 0.5]}}
TOP_ARRAYS = {"means": [2, 4], "context": [0, 2], "targets": [1, 0], "weights": [[1, 2], [3, 8]]}


def packed(header: Any, arrays: Any) -> bytes:
    """A file by hand."""
    made = {name: np.array(values, "<i2") for name, values in arrays.items()}
    return container.pack(HEADER | header, made)


@pytest.mark.parametrize(
    ("history", "clip", "taste"),
    [
        # Damping 1 and weight 1; a share of 1 less the mean (1/4, 1/2, 1), in two directions.
        ({"a": 4.0}, 100, (0.75 - 2, -1 - 1)),
        # b has no features; half its damping, 3, beside 1 for a: shares of 1/2.5.
        ({"a": 5.0, "b": 3.9}, 100, (0.4 - 0.25 - 2, -1 - 1)),
        # Two features of 1/sqrt(2) each.
        ({"c": 5.0}, 100, (3 / math.sqrt(2) - 2.25, 1 / math.sqrt(2) - 2)),
        # A length of sqrt(1.25^2 + 2^2), cut to 0.5 sqrt(2).
        ({"a": 5.0}, 0.5, (-1.25 * math.sqrt(0.5 / 5.5625), -2 * math.sqrt(0.5 / 5.5625))),
        ({}, 100, (0, 0)),
        ({"other": 5.0}, 100, (0, 0)),
    ],
)
def test_tastes_by_hand(history: Any, clip: float, taste: Any) -> None:
    """Scores are means (1, 2) plus 2 of the first taste and 1 of the second, or 3 of the second."""
    lists = replace(DeviceLists.decode(packed(TASTE, TASTE_ARRAYS)), clip=clip)
    one, other = taste
    assert lists.scores(history) == pytest.approx([1 + 2 * one + other, 2 + 3 * other])


def test_named_features_have_the_norm_one_by_default() -> None:
    """Without dense features it is that of the file's tastes by hand, as `Tastes` says."""
    lists = DeviceLists.decode(packed(TASTE, TASTE_ARRAYS))
    read = lists.model
    assert isinstance(read, Tastes)
    made = Tastes(read.damping, read.offsets, read.columns, read.mean, read.directions, read.items)
    one, other = 3 / math.sqrt(2) - 2.25, 1 / math.sqrt(2) - 2  # as for c above
    expected = [1 + 2 * one + other, 2 + 3 * other]
    assert replace(lists, model=made).scores({"c": 5.0}) == pytest.approx(expected)


def test_own_likes_by_hand() -> None:
    """Two likes: their tastes over sqrt(2) less the average ones, mapped, beside features of 0."""
    arrays = TASTE_ARRAYS | {"offsets": [0, 0, 0], "columns": [], "damping": [1, 1]}
    arrays |= {"mean": [0, 0, 0], "own_likes": [[1, 0], [2, 1]], "own_likes_mean": [2, 4]}
    units = TASTE["units"] | {"own_likes": [1, 0.5], "own_likes_mean": 0.25}
    header = TASTE | {"context": None, "units": units}
    lists = DeviceLists.decode(packed(header, arrays))
    one, other = 2 / math.sqrt(2) - 0.5, 4 / math.sqrt(2) - 1  # items (2, 1) and (0, 3)
    taste = one + 2 * other, 0.5 * other
    expected = [1 + 2 * taste[0] + taste[1], 2 + 3 * taste[1]]
    assert lists.scores({"p": 5.0, "q": 4.0}) == pytest.approx(expected)
    assert lists.scores({"p": 1.0}) == [1, 2]


PAIR_ARRAYS = TASTE_ARRAYS | {
    "offsets": [0, 0, 0],
    "columns": [],
    "damping": [1, 1],
    "mean": [0, 0, 0],
    "pair_items": [1],
    "pairs": [[2, 4, -1]],
    "pairs_mean": [1, 2, 3],
}
PAIRS = TASTE | {
    "context": None,
    "units": TASTE["units"] | {"pairs": [1, 0.5, 1], "pairs_mean": 0.25},  # type: ignore[operator]
}


def test_pairs_of_likes_by_hand() -> None:
    """Likes of both items, one of them in the head: its vector (2, 2, -1) over sqrt(2), less the
    mean (.25, .5, .75), times its vector; without likes nothing, and nothing beside the head."""
    lists = DeviceLists.decode(packed(PAIRS, PAIR_ARRAYS))
    length = math.sqrt(2)
    coordinates = 2 / length - 0.25, 2 / length - 0.5, -1 / length - 0.75
    added = 2 * coordinates[0] + 2 * coordinates[1] - coordinates[2]
    assert lists.scores({"p": 5.0, "q": 4.0}) == pytest.approx([1, 2 + added])
    assert lists.scores({"p": 5.0}) == pytest.approx([1, 2 + 2 * -0.25 + 2 * -0.5 + 0.75])
    assert lists.scores({"p": 1.0}) == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"pair_items": []},
        {"pair_items": [2]},
        {"pair_items": [-1]},
        {"pair_items": [0, 1]},
        {"pair_items": [1, 1], "pairs": [[2, 4, -1], [2, 4, -1]]},
        {"pair_items": [1, 0], "pairs": [[2, 4, -1], [2, 4, -1]]},
        {"pairs": [[2, 4]]},
        {"pairs": [[2, 4, -1], [2, 4, -1]]},
        {"pairs_mean": [1, 2]},
    ],
)
def test_pairs_that_do_not_fit_are_refused(change: Any) -> None:
    """One fault is enough: places outside, out of order, or vectors of another length."""
    with pytest.raises(ModelFileError, match="do not fit together"):
        DeviceLists.decode(packed(PAIRS, PAIR_ARRAYS | change))


@pytest.mark.parametrize(
    ("history", "scores"),
    [
        ({"a": 4.0}, [3 + 1, 6 + 1]),
        ({"a": 1.0, "b": 5.0}, [3 + 1, 6 + 1]),
        ({"a": 3.9, "c": 5.0}, [3 + 4.5 / math.sqrt(1.25), 6 + 3.5 / math.sqrt(1.25)]),
        ({"b": 5.0}, [3, 6]),
    ],
)
def test_top_items_by_hand(history: Any, scores: Any) -> None:
    """Three times the means (1, 2), and the weights of a unit row: of a, 1 to p and 1 to q; of c,
    4 and 3. A rating below 4 counts for half; b has no weights."""
    lists = DeviceLists.decode(packed(TOP, TOP_ARRAYS))
    assert not lists.one_domain
    assert lists.scores(history) == pytest.approx(scores)


@pytest.mark.parametrize(
    ("history", "scores"), [({"p": 3.9}, [3, 6]), ({"p": 3.9, "q": 4.0}, [3 + 4, 6 + 3])]
)
def test_likes_alone_count_within_one_domain(history: Any, scores: Any) -> None:
    """Where lists are of the same items, a rating below 4 counts for nothing."""
    lists = DeviceLists.decode(packed(TOP | {"context": None}, TOP_ARRAYS | {"context": [0, 1]}))
    assert lists.one_domain
    assert lists.scores(history) == pytest.approx(scores)


def test_dense_features_and_consenting_people_by_hand() -> None:
    """Named rows have the length .5, a dense feature comes last; likes add weights of others."""
    arrays = TASTE_ARRAYS | {"offsets": [0, 1, 1], "columns": [0], "damping": [2, 2]}
    arrays |= {"mean": [0, 0, 0], "own_likes": [[0, 0], [0, 0]], "own_likes_mean": [0, 0]}
    arrays |= {"dense": [[4], [8]], "consented": [6, 2], "consented_offsets": [0, 1, 2]}
    arrays |= {"consented_columns": [1, 0]}
    units = TASTE["units"] | {"own_likes": [1, 1], "own_likes_mean": 1, "dense": [0.25]}
    header = TASTE | {
        "context": None,
        "units": units | {"consented": 0.5},
        "named_features": 0.5,
    }
    lists = DeviceLists.decode(packed(header, arrays))
    shares = (0.25, 1.5)  # of p and q: .5 and 0 of the first feature, 1 and 2 of the last
    taste = shares[0] + 2 * shares[1], shares[1]
    length = math.sqrt(2)
    expected = [
        1 + 2 * taste[0] + taste[1] + 1 / length,
        2 + 3 * taste[1] + 3 / length,
    ]
    assert lists.scores({"p": 5.0, "q": 4.0}) == pytest.approx(expected)


def test_lists_have_ten_entries_by_default(world: Ratings) -> None:
    """And one if asked."""
    lists = DeviceLists.decode(fitted(world, "taste").device_file())
    assert len(lists.rank({})) == 10
    assert lists.rank({}, n=1) == lists.rank({})[:1]


@pytest.mark.parametrize(
    "change",
    [
        {"offsets": [0, 2, 1, 3]},
        {"offsets": [1, 1, 1, 3]},
        {"offsets": [0, 1, 1, 2]},
        {"offsets": [0, 1, 3]},
        {"columns": [0, -1, 2]},
        {"columns": [0, 3, 2]},
        {"damping": [2, 6]},
        {"directions": [[1, 0], [0, 4]]},
        {"items": [[1, 1]]},
        {"items": [[1, 1], [0, 3], [0, 0]]},
        {"directions": [[1, 0], [0, 4], [2, 2], [0, 0]]},
        {"items": [[1], [3]]},
    ],
)
def test_features_that_do_not_fit_are_refused(change: Any) -> None:
    """One fault is enough; an item without features is none."""
    assert DeviceLists.decode(packed(TASTE, TASTE_ARRAYS))
    with pytest.raises(ModelFileError, match="do not fit together"):
        DeviceLists.decode(packed(TASTE, TASTE_ARRAYS | change))


@pytest.mark.parametrize(
    "change",
    [{"context": [0, 3]}, {"context": [-1, 0]}, {"targets": [0, 0]}, {"weights": [[1, 2]]}],
)
def test_weights_of_other_places_are_refused(change: Any) -> None:
    """Item numbers are from 0 on, each once, and below the number of items."""
    with pytest.raises(ModelFileError, match="do not fit together"):
        DeviceLists.decode(packed(TOP, TOP_ARRAYS | change))


@pytest.mark.parametrize(
    "units",
    [
        {"means": 1e308},
        {"means": 1e101},
        {"mean": -1e308},
        {"damping": -0.5},
        {"directions": [1, 1e100]},
        {"items": [1e300, 1]},
        {"pairs": [1, 1, 1e308]},
        {"pairs_mean": 1e101},
    ],
    ids=str,
)
def test_numbers_too_large_to_multiply_are_refused(units: Any) -> None:
    """A unit, or a unit times a number, above 1e100; and damping below 0, whose sum may be 0."""
    header = PAIRS | {"units": PAIRS["units"] | units}  # type: ignore[operator]
    with pytest.raises(ModelFileError, match="do not fit together"):
        DeviceLists.decode(packed(header, PAIR_ARRAYS | {"mean": [1, 2, 3]}))


def test_the_largest_numbers_give_finite_scores() -> None:
    """Every number of the file at 1e100 or just below."""
    largest = {"means": 2.5e99, "mean": 1e99, "damping": 1e100, "pairs_mean": 1e99}
    tables = {"directions": [1e99, 2.5e99], "items": [1e100, 1e99], "pairs": [1e99, 2.5e99, 1e100]}
    header = PAIRS | {"units": largest | tables, "clip": 1e100, "low": 1e100}
    lists = DeviceLists.decode(packed(header, PAIR_ARRAYS | {"mean": [1, 2, 3]}))
    for history in ({"p": 5.0, "q": 4.0}, {"p": 1.0}, {}):
        assert all(math.isfinite(score) for score in lists.scores(history))


@pytest.mark.parametrize("change", [{"low": -0.4}, {"low": 1e101}, {"clip": 1e308}])
def test_weights_of_the_header_are_bounded(change: Any) -> None:
    """A rating below a like weighs no less than nothing, and nothing more than 1e100."""
    with pytest.raises(ModelFileError, match="do not fit together"):
        DeviceLists.decode(packed(TASTE | change, TASTE_ARRAYS))


def test_arrays_do_not_run_backwards(world: Ratings) -> None:
    """An array of less than no bytes is refused, also where a later one makes up for it."""
    back = [{"name": name, "dtype": "<i2", "shape": [size]} for name, size in (("x", -1), ("y", 1))]
    data = forged(packed(TOP, TOP_ARRAYS), lambda content: content["arrays"].extend(back))
    with pytest.raises(ModelFileError, match="of a form"):
        DeviceLists.decode(data)


def test_a_single_feature() -> None:
    """Of a share of 1 less the mean of 1/4, in two directions of 1 and 4/2."""
    arrays = {"mean": [1], "offsets": [0, 1, 1, 1], "columns": [0], "directions": [[1, 4]]}
    lists = DeviceLists.decode(packed(TASTE, TASTE_ARRAYS | arrays))
    assert lists.scores({"a": 5.0}) == pytest.approx([1 + 2 * 0.75 + 1.5, 2 + 3 * 1.5])


def test_an_empty_array_is_an_array() -> None:
    """Where no item has features."""
    arrays = TASTE_ARRAYS | {"columns": [], "offsets": [0, 0, 0, 0]}
    lists = DeviceLists.decode(packed(TASTE, arrays))
    assert lists.scores({}) == [1, 2]


@pytest.mark.parametrize(("more", "said"), [(0, "damaged"), (1, "no lists of tacit")])
def test_a_file_has_at_most_256_mebibytes(more: int, said: str) -> None:
    """Larger ones are refused before they are hashed."""

    class Large(bytes):
        def __len__(self) -> int:
            return 2**28 + more

    data = Large(packed(TOP, TOP_ARRAYS)[:-1] + b"?")
    with pytest.raises(ModelFileError, match=said):
        DeviceLists.decode(data)


@pytest.mark.parametrize(("cut", "said"), [(0, "of a form"), (1, "no lists of tacit")])
def test_the_shortest_file(cut: int, said: str) -> None:
    """A head and a digest are looked into; a byte less is no file."""
    head = b"tacit\x00\x01\n" + bytes(8 - cut)
    with pytest.raises(ModelFileError, match=said):
        DeviceLists.decode(head + hashlib.sha256(head).digest())


def test_reasons_are_own_items_that_raise_the_score(world: Ratings) -> None:
    """None for an item that the model does not know, and none that lowers the score."""
    lists = DeviceLists.decode(fitted(world, "taste").device_file())
    history = world.history(0)
    known, unknown = lists.items[0], 10**9
    of_known, of_unknown = lists.reasons(history, [known, unknown], n=len(history))
    assert of_unknown == []
    raised = {}
    for item in history:
        others = {other: stars for other, stars in history.items() if other != item}
        raised[item] = lists.scores(history)[0] - lists.scores(others)[0]
    assert min(raised.values()) < 0 < max(raised.values())
    assert dict(of_known) == {item: amount for item, amount in raised.items() if amount > 0}
