"""Ratings: ids, order, duplicates, immutability, filters."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.data.columns import EVENTS
from tacit.data.ratings import Ratings, RatingScale
from tacit.errors import ConfigError, DataError

STARS = RatingScale(1, 5, 1)
IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12),
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=12),
)


def small(**changes: object) -> Ratings:
    columns: dict[str, object] = {
        "users": ["b", "a", "b"],
        "items": [7, 7, 3],
        "values": [4, 5, 1],
        "timestamps": [30, 20, 10],
        "scale": STARS,
    }
    return Ratings.from_arrays(**(columns | changes))  # type: ignore[arg-type]


@given(IDS, IDS, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(
    users: list[object], items: list[object], random: object
) -> None:
    """The same ratings in another order give the same Ratings."""
    pairs = [(u, i) for u in dict.fromkeys(users) for i in dict.fromkeys(items)]
    rows = [(u, i, 1 + n % 5) for n, (u, i) in enumerate(pairs)]
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    first = Ratings.from_arrays(*map(list, zip(*rows, strict=True)), scale=STARS)
    second = Ratings.from_arrays(*map(list, zip(*mixed, strict=True)), scale=STARS)
    assert first.digest == second.digest


@given(IDS)
def test_ids_come_out_as_they_went_in(ids: list[object]) -> None:
    """Every id, integer or string, is found again with its own type and value."""
    ratings = Ratings.from_arrays(ids, ids, [3] * len(ids), scale=STARS)
    assert set(ratings.user_ids.tolist()) == set(ids)
    assert all(ratings.user_ids[ratings.user_number(key)] == key for key in ids)
    assert {type(key) for key in ratings.item_ids.tolist()} == {type(key) for key in ids}


def test_spread_out_integers_are_numbered_like_close_ones() -> None:
    """Numbering does not depend on how far apart integer ids lie."""
    far = Ratings.from_arrays([0, 2**62, -5], [1, 2, 3], [1, 2, 3], scale=STARS)
    assert far.user_ids.tolist() == [-5, 0, 2**62]
    assert far.values.tolist() == [3, 1, 2]


def test_mixed_ids_are_refused() -> None:
    """7 and '7' are different ids, so a column with both is refused and nothing is merged."""
    with pytest.raises(DataError, match="user ids mix integers and strings"):
        small(users=[7, "7", 8])


@pytest.mark.parametrize("odd", [1.0, None, True, b"a"])
def test_an_id_of_another_type_is_refused_by_row(odd: object) -> None:
    """A float, None, bool or bytes id is refused with the row it stands in."""
    with pytest.raises(DataError, match=r"row 2: a user id is an integer or a string"):
        small(users=np.array(["a", odd, "b"], dtype=object))


def test_an_empty_id_is_refused_by_row() -> None:
    """A blank string names nobody."""
    with pytest.raises(DataError, match="row 3: a user id is empty"):
        small(users=["a", "b", " "])


@pytest.mark.parametrize(
    "ids", [np.array([1, 2, 2**63], dtype=np.uint64), [1, 2, 2**63]], ids=["array", "list"]
)
def test_an_id_beyond_64_bits_is_refused(ids: object) -> None:
    """An integer that would wrap around is refused instead."""
    with pytest.raises(DataError, match="does not fit a signed 64-bit integer"):
        small(users=ids)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_rating_that_is_not_finite_is_refused_by_row(bad: float) -> None:
    """NaN and infinities never become ratings."""
    with pytest.raises(DataError, match=r"row 2: a rating is not a finite number"):
        small(values=[1, bad, 2])


def test_a_rating_off_the_scale_is_refused_by_row() -> None:
    """A given scale is a promise about every rating."""
    with pytest.raises(DataError, match=r"row 3: .*off the scale; expected 1:5:1"):
        small(values=[1, 2, 2.5])


def test_text_is_not_a_rating() -> None:
    """A word among the stars is a data error, not a Python one."""
    with pytest.raises(DataError, match="a rating is not a number"):
        small(values=["1", "two", "3"])


def test_columns_of_different_lengths_are_refused() -> None:
    """Parallel columns are parallel."""
    with pytest.raises(DataError, match="the same length"):
        small(users=["a", "b"])


def test_no_rows_are_refused() -> None:
    """Ratings hold at least one rating."""
    with pytest.raises(DataError, match="there is no rating"):
        small(users=[], items=[], values=[], timestamps=None)


@pytest.mark.parametrize("bad", [[1.0, float("nan"), 2.0], [1.0, float("inf"), 2.0]])
def test_a_time_that_is_not_finite_is_refused_by_row(bad: list[float]) -> None:
    """A missing time does not become a date in the past."""
    with pytest.raises(DataError, match=r"row 2: a time is not a finite number"):
        small(timestamps=bad)


def test_milliseconds_are_refused() -> None:
    """Times beyond the year 9999 are in another unit."""
    with pytest.raises(DataError, match=r"row 3: a time is not in seconds"):
        small(timestamps=[1, 2, 1_600_000_000_000])


def test_numpy_times_become_seconds() -> None:
    """datetime64 of any unit gives seconds since 1970, whatever its unit."""
    moment = np.datetime64(datetime(2001, 9, 9, 1, 46, 40), "ns")
    assert small(timestamps=np.array([moment] * 3)).timestamps.tolist() == [10**9] * 3  # type: ignore[union-attr]


REPEATED = {"users": ["a", "a", "a"], "items": [1, 1, 2], "values": [5, 2, 3]}


def test_the_latest_of_two_ratings_counts() -> None:
    """With times, 'last' means the later time, not the later row."""
    assert small(**REPEATED, timestamps=[9, 1, 5]).history("a") == {1: 5.0, 2: 3.0}


@pytest.mark.parametrize("times", [None, [7, 7, 7]])
def test_of_equally_late_ratings_the_one_with_most_stars_counts(times: list[int] | None) -> None:
    """Without times, and at one time, whatever the order of the rows."""
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        rows = {name: [column[row] for row in order] for name, column in REPEATED.items()}
        assert small(**rows, timestamps=times).history("a") == {1: 5.0, 2: 3.0}


def test_every_array_is_read_only() -> None:
    """No column, id or attribute of finished ratings can be changed."""
    ratings = small(user_attributes={"g": {"a": "F"}}, item_metadata={"t": {7: "x"}})
    columns = ("users", "items", "values", "user_ids", "item_ids", "timestamps", "offsets")
    attributes = *ratings.user_attributes.values(), *ratings.item_metadata.values()
    for array in (*(getattr(ratings, name) for name in columns), *attributes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    with pytest.raises(TypeError):
        ratings.user_attributes["h"] = ratings.user_ids  # type: ignore[index]


def test_the_callers_array_stays_his() -> None:
    """from_arrays copies: what the caller does to his array later changes nothing."""
    values = np.array([4.0, 5.0, 1.0])
    ratings = small(users=["a", "b", "c"], values=values)
    values[0] = 2
    assert ratings.values.tolist() == [4, 5, 1]


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])  # noqa: S301
def test_a_copy_is_equal_and_read_only(clone: object) -> None:
    """Pickling and copying keep everything, read-only flags too."""
    ratings = small(user_attributes={"g": {"a": "F"}})
    twin = clone(ratings)  # type: ignore[operator]
    assert twin.digest == ratings.digest
    assert twin.attribute("g").tolist() == ["F", None]
    assert not twin.values.flags.writeable
    assert not twin.attribute("g").flags.writeable


def test_the_digest_tells_numbers_from_strings() -> None:
    """Ids 1 and '1' are different data."""
    integers, strings = small(items=[1, 1, 2]), small(items=["1", "1", "2"])
    assert integers.digest != strings.digest


def test_attributes_are_aligned_and_unknown_ids_left_out() -> None:
    """A value belongs to its id; ids without ratings vanish; missing values are None."""
    ratings = small(user_attributes={"g": {"z": "M", "b": "F"}})
    assert ratings.attribute("g").tolist() == [None, "F"]


def test_an_unknown_attribute_names_the_known_ones() -> None:
    """The error lists what there is."""
    with pytest.raises(DataError, match="no user attribute 'age'; expected one of: g"):
        small(user_attributes={"g": {}}).attribute("age")


def test_unknown_people_have_an_empty_history() -> None:
    """An unknown id is no error."""
    assert small().history("nobody") == {}
    assert small().user_number("nobody") is None
    assert small().item_number("7") is None


def test_the_matrix_holds_the_ratings() -> None:
    """Rows are people, columns items, in the order of their ids."""
    assert small().matrix.toarray().tolist() == [[0, 5], [1, 4]]


def test_of_users_keeps_item_numbers() -> None:
    """Choosing people renumbers people only."""
    one = small().of_users(np.array([1]))
    assert (one.user_ids.tolist(), one.n_items, one.history("b")) == (["b"], 2, {3: 1.0, 7: 4.0})


@pytest.mark.parametrize("numbers", [[True, False], [2], [-1], [0.5]])
def test_of_users_refuses_what_is_no_number(numbers: list[object]) -> None:
    """Masks, floats and numbers out of range are not taken for people."""
    with pytest.raises(DataError):
        small().of_users(np.array(numbers))


def test_compact_drops_the_unrated() -> None:
    """People and items without a rating go, with their attributes."""
    ratings = small(user_attributes={"g": {"a": "F", "b": "M"}})
    left = ratings.where(np.array([True, False, False])).compact()
    assert (left.user_ids.tolist(), left.item_ids.tolist()) == (["a"], [7])
    assert left.attribute("g").tolist() == ["F"]


def test_at_least_repeats_until_stable() -> None:
    """Dropping an item may push a person below the limit: she goes too."""
    ratings = Ratings.from_arrays(
        ["a", "a", "b", "b", "c", "c"], [1, 2, 1, 2, 2, 3], [1, 2, 3, 4, 5, 1], scale=STARS
    )
    left = ratings.drop_rare(per_user=2, per_item=2)
    assert (left.user_ids.tolist(), left.item_ids.tolist()) == (["a", "b"], [1, 2])


def test_at_least_says_when_nothing_is_left() -> None:
    """Filters that leave nothing are an error with advice."""
    with pytest.raises(DataError, match=r"no rating is left.*Lower the filters"):
        small().drop_rare(per_user=9)


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 5], "1:5:1"), ([0.5, 5], "0.5:5:0.5"), ([0, 5], "0:5:0.5"), ([7], "1:10:1")],
)
def test_the_scale_is_the_first_common_one_that_fits(values: list[float], scale: str) -> None:
    """Detection goes through the common scales in their order."""
    assert str(RatingScale.detect(np.array(values, dtype=float))) == scale


def test_no_common_scale_fits() -> None:
    """Unusual ratings need a scale from the caller."""
    with pytest.raises(DataError, match="fit none of the common scales") as refused:
        RatingScale.detect(np.array([1000.0, 2000.0]))
    assert refused.value.row is None


def test_one_odd_rating_does_not_bend_the_scale() -> None:
    """A 3.7 among whole stars is named with its row; it does not make the scale continuous."""
    with pytest.raises(DataError, match=r"row 3.*on 1:5:1.*MIN:MAX:STEP"):
        RatingScale.detect(np.array([1.0, 5.0, 3.7, 4.0]))


def test_where_no_attributes_are_none_is_no_name() -> None:
    """Without a users file no attribute is offered, not even one called none."""
    with pytest.raises(DataError, match="came without any user attributes") as refused:
        small().attribute("gender")
    assert "one of" not in str(refused.value)


@pytest.mark.parametrize("text", ["5:1:1", "1:5", "a:b:c", "1:5:3", "1:inf:1", "1:5:-1"])
def test_nonsense_is_no_scale(text: str) -> None:
    """Reversed, incomplete, endless and uneven scales are refused."""
    with pytest.raises(DataError):
        RatingScale.parse(text)


@given(st.integers(-20, 20), st.integers(1, 40), st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0]))
def test_levels_count_the_steps(minimum: int, steps: int, step: float) -> None:
    """The stars of level k, minimum + k steps, have level k, on any scale."""
    scale = RatingScale(minimum, minimum + steps * step, step)
    levels = np.arange(scale.levels)
    assert scale.to_levels(minimum + step * levels).tolist() == levels.tolist()


def test_disordered_arrays_are_refused() -> None:
    """Building Ratings by hand from unsorted rows, or rows without an id, is refused."""
    ids = np.array([1, 2])
    for users in ([1, 0], [0, 0], [0, 2]):
        with pytest.raises(DataError):
            Ratings(
                users=np.array(users, dtype=np.int32),
                items=np.zeros(2, dtype=np.int32),
                values=np.ones(2),
                timestamps=None,
                user_ids=ids,
                item_ids=ids[:1],
                scale=STARS,
            )


def test_a_detected_scale_is_not_a_given_one() -> None:
    """A named scale counts as given, one read off the ratings does not, copies remember."""
    named = small(scale=STARS)
    detected = small(scale=None)
    assert (named.scale_given, detected.scale_given) == (True, False)
    assert detected.scale == STARS
    assert not pickle.loads(pickle.dumps(detected)).scale_given  # noqa: S301
    assert not detected.where(detected.values > 0).scale_given


def test_ratings_of_one_person_are_limited() -> None:
    """The latest ratings of each person stay; without times as many, and others stay whole."""
    users, items = [1] * 5 + [2] * 2, [1, 2, 3, 4, 5, 1, 2]
    times = [50, 10, 40, 20, 30, 5, 6]
    made = Ratings.from_arrays(users, items, timestamps=times)
    limited = made.limit_per_person(2)
    assert set(limited.history(1)) == {1, 3}
    assert set(limited.history(2)) == {1, 2}
    without = Ratings.from_arrays(users, items).limit_per_person(3)
    assert [len(without.history(user)) for user in (1, 2)] == [3, 2]


def test_ids_with_half_a_character_are_limited_too() -> None:
    """From Python an id may hold half a surrogate pair, which UTF-8 cannot write."""
    users, items = np.array(["a\ud800"] * 3, dtype=object), np.array(["x", "y", "z"], dtype=object)
    assert len(Ratings.from_arrays(users, items).limit_per_person(2)) == 2


def test_without_times_the_ratings_that_stay_are_a_random_choice() -> None:
    """Of ten items, each stays with some of two hundred people, and about half of them."""
    people, items = 200, 10
    users = np.repeat(np.arange(people), items)
    made = Ratings.from_arrays(users, np.tile(np.arange(items), people))
    limited = made.limit_per_person(5)
    counts = np.bincount(limited.items, minlength=items)
    assert counts.sum() == people * 5
    # 100 expected, standard deviation 7: a count beyond 5 of them has a chance below 1e-5.
    assert counts.min() > 65
    assert counts.max() < 135


@pytest.mark.parametrize("times", [None, 7])
def test_nobody_decides_which_ratings_of_another_person_stay(times: int | None) -> None:
    """With one more person, whose id and items come first, the others keep the same ratings."""
    users, items = np.repeat(np.arange(1, 21), 10), np.tile(np.arange(1, 11), 20)
    more_users, more_items = (
        np.concatenate([[0] * 6, users]),
        np.concatenate([np.arange(-5, 1), items]),
    )

    def limit(users: np.ndarray, items: np.ndarray) -> Ratings:
        timestamps = None if times is None else np.full(len(users), times)
        return Ratings.from_arrays(users, items, timestamps=timestamps).limit_per_person(4)

    alone, with_another = limit(users, items), limit(more_users, more_items)
    for user in range(1, 21):
        assert alone.history(user) == with_another.history(user)


def test_events_have_no_scale_of_stars() -> None:
    """An event is no rating of 1 star; the scale of events may be named."""
    with pytest.raises(ConfigError, match="a scale has no meaning"):
        Ratings.from_arrays([1, 2], [3, 4], scale=RatingScale(1, 5, 1))
    named = Ratings.from_arrays([1, 2], [3, 4], scale=EVENTS)
    assert named.digest == Ratings.from_arrays([1, 2], [3, 4]).digest
