"""Ratings: who gave which item how many stars, and when. Columnar and immutable.

Ids are integers or strings, and are returned as the caller wrote them. Inside, people and items are
numbered from 0 in the sorted order of their ids, so that the same ratings give the same `Ratings`,
whatever the order of their rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tacit.data.columns import (
    EVENTS,
    align,
    check_stars,
    check_times,
    find_latest_rows,
    number_ids,
)
from tacit.data.columns import Column as Column
from tacit.data.columns import RatingScale as RatingScale
from tacit.errors import ConfigError, DataError
from tacit.views import table


@dataclass(frozen=True)
class TableSource:
    """The table that ratings were read from, and its columns."""

    path: str | None
    """Where the table is; None if it was in memory."""
    columns: Mapping[str, str]
    """Role, such as 'user', to the header of its column."""
    why: Mapping[str, str]
    """Role to what decided on its column: 'asked' (the caller), 'name' (its header) or 'content'
    (its cells). A role whose column a written format (`tacit.data.tables`) names has no entry."""

    def __str__(self) -> str:
        """Say which column has which role, without any cell."""
        parts = []
        for role, header in self.columns.items():
            reason = self.why.get(role, "given")
            parts.append(f"{role} = {header} ({reason})")
        return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Validated ratings of `n_users` people for `n_items` items; compare two by their `digest`.

    Every array becomes read-only, and so does an array of the caller that was not copied.
    """

    users: NDArray[np.int32]
    """(n,) numbers of people, which are indices into `user_ids`; rows are sorted by them."""
    items: NDArray[np.int32]
    """(n,) numbers of items, which are indices into `item_ids`; ascending within a person."""
    values: NDArray[np.float64]
    """(n,) stars on `scale`; on `EVENTS` 1 for a like, else 0."""
    timestamps: NDArray[np.int64] | None
    """(n,) seconds since 1970; None: the ratings have no times."""
    user_ids: Column
    """(n_users,) ids of people: int64, or objects of str; sorted, without repeats."""
    item_ids: Column
    """(n_items,) ids of items: int64, or objects of str; sorted, without repeats."""
    scale: RatingScale
    """The stars a rating can take."""
    user_attributes: Mapping[str, Column] = field(default_factory=dict)
    """Attributes by name, each (n_users,) in the order of `user_ids`; None: an unknown value."""
    item_metadata: Mapping[str, Column] = field(default_factory=dict)
    """Metadata by name, each (n_items,) in the order of `item_ids`; None: an unknown value."""
    scale_given: bool = True
    """Whether the caller named `scale`, or the ratings are events; if not, it was found in them."""
    catalogue_given: bool = False
    """Whether `item_ids` and their metadata come from a public list of items, such as that of
    `tacit.data.on_catalogue`; if not, from the ratings."""
    guesses: tuple[str, ...] = ()
    """What was found in the rows or beside them in order to read them, so that one row may have
    decided how others were read: keys of `tacit.recommenders.public_facts.PUBLIC_FACTS`."""
    row_texts: tuple[str, ...] = ()
    """Names of the item metadata that came from columns beside the ratings. People may have written
    these texts, so no model uses or publishes them."""
    source: TableSource | None = None
    """The table that the columns were read from; None for ratings built from arrays."""
    filtered: bool = False
    """Whether `drop_rare` was called, which drops ratings because of what other people rated."""
    joined_people: tuple[str, ...] = ()
    """Texts of the ids of people that the tables have in several ways of writing, such as two forms
    of Unicode, so that each may be that of several people. Blanks around the cells of a text file
    are no part of an id."""

    @classmethod
    def from_arrays(
        cls,
        users: ArrayLike | Sequence[Any],
        items: ArrayLike | Sequence[Any],
        values: ArrayLike | None = None,
        timestamps: ArrayLike | None = None,
        *,
        scale: RatingScale | None = None,
        user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
        item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
    ) -> Ratings:
        """Build ratings from parallel columns of ids and stars.

        If a person rated an item more than once, the latest rating counts. Among equally late ones,
        or without times, the rating with most stars counts.

        Args:
            users: (n,) ids, all integers or all strings.
            items: (n,) ids, all integers or all strings.
            values: (n,) stars; None for events such as purchases, of which each has the value 1.
            timestamps: (n,) seconds, whose decimals are cut, or datetime64; None: no times.
            scale: The stars a rating can take; None: found in `values`, or, for events, `EVENTS`,
                on which each is a like.
            user_attributes: Attributes by name, each of which maps user ids to values; ids without
                a rating are left out.
            item_metadata: Metadata by name, each of which maps item ids to values; ids without a
                rating are left out.

        Raises:
            DataError: There is no row, the columns differ in length, a value is no id, no rating or
                no time, or `scale` is None and no common scale holds all stars.
            ConfigError: A scale of stars is given for events.
        """
        if values is None and scale not in (None, EVENTS):
            raise ConfigError("Events have no stars, so a scale has no meaning for them.")
        user_ids, user_numbers = number_ids(users, "user")
        item_ids, item_numbers = number_ids(items, "item")
        del users, items
        if values is None:
            values = np.ones(len(user_numbers))
            scale = scale or EVENTS
        stars = check_stars(values, scale)
        sort_keys: list[NDArray[Any]] = [stars]
        times = None
        if timestamps is not None:
            times = check_times(timestamps)
            sort_keys.append(times)
        lengths = {len(column) for column in (user_numbers, item_numbers, *sort_keys)}
        if len(lengths) != 1:
            raise DataError("users, items, ratings and times must have the same length")
        pairs = user_numbers * np.int64(len(item_ids))
        pairs += item_numbers
        rows = find_latest_rows(pairs, *sort_keys)
        del pairs
        return cls(
            users=user_numbers[rows].astype(np.int32),
            items=item_numbers[rows].astype(np.int32),
            values=stars[rows],
            timestamps=None if times is None else times[rows],
            user_ids=user_ids,
            item_ids=item_ids,
            scale=scale or RatingScale.detect(stars),
            user_attributes=align(user_attributes, user_ids),
            item_metadata=align(item_metadata, item_ids),
            scale_given=scale is not None,
        )

    def __repr__(self) -> str:
        """Show the sizes, the scale and the columns that were read, but no id and no rating."""
        columns = "" if self.source is None else f"; {self.source}"
        return (
            f"Ratings({len(self):,} ratings of {self.n_users:,} people for {self.n_items:,} items, "
            f"{self.scale}{columns})"
        )

    def _repr_html_(self) -> str:
        """Show the sizes, the scale and the names of attributes and metadata as an HTML table."""
        rows = {
            "ratings": f"{len(self):,}",
            "people": f"{self.n_users:,}",
            "items": f"{self.n_items:,}",
            "scale": self.scale,
            "known of people": ", ".join(sorted(self.user_attributes)) or None,
            "known of items": ", ".join(sorted(self.item_metadata)) or None,
        }
        return table("Ratings", (), rows.items())

    def __post_init__(self) -> None:
        self._refuse_disorder()
        arrays: list[Any] = [self.users, self.items, self.values, self.user_ids, self.item_ids]
        arrays += [] if self.timestamps is None else [self.timestamps]
        for name in ("user_attributes", "item_metadata"):
            columns = dict(getattr(self, name))
            object.__setattr__(self, name, MappingProxyType(columns))
            arrays += columns.values()
        for array in arrays:
            array.flags.writeable = False

    def _refuse_disorder(self) -> None:
        """Raise DataError for wrong shapes, numbers out of range, or rows that are not in order.

        Each of these is an error in the calling code, not in data.
        """
        times = [] if self.timestamps is None else [self.timestamps]
        row_columns: list[Column] = [self.users, self.items, self.values, *times]
        if len({column.shape for column in row_columns}) != 1 or self.values.ndim != 1:
            raise DataError("users, items, values and timestamps must have the same length")
        for numbers, ids, columns in (
            (self.users, self.user_ids, self.user_attributes),
            (self.items, self.item_ids, self.item_metadata),
        ):
            for name, column in columns.items():
                if len(column) != len(ids):
                    raise DataError(f"'{name}' has {len(column)} values for {len(ids)} ids")
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(ids)):
                raise DataError("a number of a user or item has no id")
        pairs = self.users.astype(np.int64) * max(1, len(self.item_ids)) + self.items
        if not (pairs[1:] > pairs[:-1]).all():
            raise DataError("ratings are kept sorted by user, then item, each pair once")

    def __len__(self) -> int:
        return len(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in ("user_attributes", "item_metadata"):
            values[name] = dict(values[name])  # a MappingProxyType cannot be pickled
        return partial(Ratings, **values), ()

    @property
    def n_users(self) -> int:
        """Number of people."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def density(self) -> float:
        """Share of all (user, item) pairs that are rated."""
        return len(self) / max(1, self.n_users * self.n_items)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(n_users, n_items) CSR float64; a stored zero is a rating of 0, other zeros no rating."""
        index_type = np.int32 if len(self) < 1 << 31 else np.int64
        return sparse.csr_array(
            (self.values.copy(), self.items.astype(index_type), self.offsets.astype(index_type)),
            shape=(self.n_users, self.n_items),
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Rows where each person's ratings start, then the number of rows; shape (n_users + 1,)."""
        counts = np.bincount(self.users, minlength=self.n_users)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        starts.flags.writeable = False
        return starts

    @cached_property
    def digest(self) -> str:
        """SHA-256 of scale, ids, stars and times; manifests name data by it without showing it."""
        sha = hashlib.sha256()
        sha.update(f"{self.scale}|{len(self)}|{self.n_users}|{self.n_items}".encode())
        for ids in (self.user_ids, self.item_ids):
            sha.update(json.dumps(ids.tolist()).encode())
        for array in (self.users, self.items, self.values, self.timestamps):
            if array is not None:
                sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    @property
    def public_metadata(self) -> Mapping[str, Column]:
        """Item metadata, a column for each name, that a model may publish: all but `row_texts`."""
        return {
            name: column
            for name, column in self.item_metadata.items()
            if name not in self.row_texts
        }

    def with_row_texts_public(self) -> Ratings:
        """Treat the `row_texts` as public; guarantee cards then state this as a condition."""
        if not self.row_texts:
            return self
        return replace(self, row_texts=()).with_guess("titles")

    def with_guess(self, name: str) -> Ratings:
        """Add a key of `PUBLIC_FACTS` to `guesses`; guarantee cards state it as a condition."""
        guesses = dict.fromkeys([*self.guesses, name])
        return replace(self, guesses=tuple(guesses))

    @property
    def likes(self) -> NDArray[np.bool_]:
        """(n,) whether each rating is a like: `RatingScale.liked_from` stars or more."""
        return np.asarray(self.values >= self.scale.liked_from)

    def as_events(self) -> Ratings:
        """Drop the stars: each row becomes an event, which counts as a like."""
        return replace(self, values=np.ones(len(self)), scale=EVENTS, scale_given=True)

    def attribute(self, name: str) -> Column:
        """Return each user's value (n_users,) of an attribute; DataError if it does not exist."""
        if name not in self.user_attributes:
            names = ", ".join(sorted(self.user_attributes))
            why = "" if names else ": the ratings came without any user attributes"
            expected = f"one of: {names}" if names else None
            fix = "Name a users file with --users, or check the column's name."
            raise DataError(f"no user attribute '{name}'{why}", expected=expected, fix=fix)
        return self.user_attributes[name]

    def user_number(self, user_id: object) -> int | None:
        """Return the number of a person, an index into `user_ids`; None for an unknown id."""
        return self._user_numbers.get(user_id)

    def item_number(self, item_id: object) -> int | None:
        """Return the number of an item, an index into `item_ids`; None for an unknown id."""
        return self._item_numbers.get(item_id)

    @cached_property
    def _user_numbers(self) -> dict[Any, int]:
        """Id of each person to their number."""
        return {key: number for number, key in enumerate(self.user_ids.tolist())}

    @cached_property
    def _item_numbers(self) -> dict[Any, int]:
        """Id of each item to its number."""
        return {key: number for number, key in enumerate(self.item_ids.tolist())}

    def history(self, user_id: object) -> dict[Any, float]:
        """Return one person's ratings as item id to stars; {} for an unknown id."""
        number = self.user_number(user_id)
        if number is None:
            return {}
        rows = slice(self.offsets[number], self.offsets[number + 1])
        ids = self.item_ids[self.items[rows]].tolist()
        return dict(zip(ids, self.values[rows].tolist(), strict=True))

    def where(self, rows: NDArray[np.bool_]) -> Ratings:
        """Keep the ratings for which a mask (n,) is True; people and items keep their numbers."""
        times = None if self.timestamps is None else self.timestamps[rows]
        users, items, values = self.users[rows], self.items[rows], self.values[rows]
        return replace(self, users=users, items=items, values=values, timestamps=times)

    def of_items(self, mask: NDArray[np.bool_]) -> Ratings:
        """Keep the items for which a mask (n_items,) is True, and renumber them.

        All people stay, with their numbers.
        """
        rows = self.where(mask[self.items])
        new_numbers = np.cumsum(mask) - 1  # of kept items; other entries are not used
        return replace(
            rows,
            items=new_numbers[rows.items].astype(np.int32),
            item_ids=self.item_ids[mask],
            item_metadata={name: values[mask] for name, values in self.item_metadata.items()},
        )

    def of_users(self, numbers: NDArray[np.integer[Any]]) -> Ratings:
        """Keep the people with these numbers (k,), and renumber them in the order of their ids.

        Numbers may be in any order and repeat.

        Raises:
            DataError: A number is not that of a person.
        """
        chosen = np.unique(np.asarray(numbers))
        if chosen.dtype.kind not in "iu" and chosen.size:
            raise DataError("people are chosen by their numbers", found=str(chosen.dtype))
        if chosen.size and not (chosen[0] >= 0 and chosen[-1] < self.n_users):
            raise DataError("no such person's number", expected=f"0 to {self.n_users - 1}")
        chosen = chosen.astype(np.int64)
        is_kept = np.isin(np.arange(self.n_users), chosen)
        rows = self.where(is_kept[self.users])
        new_numbers = np.cumsum(is_kept) - 1  # of kept people; other entries are not used
        columns = {name: column[chosen] for name, column in self.user_attributes.items()}
        return replace(
            rows,
            users=new_numbers[rows.users].astype(np.int32),
            user_ids=self.user_ids[chosen],
            user_attributes=columns,
        )

    def limit_per_person(self, most: int) -> Ratings:
        """Keep at most `most` ratings of each person: the latest or, if there are no times, any.

        Among equally late ratings, and if there are no times, hashes of the ids of the person and
        of their items decide. So the choice depends on the person's own ratings alone: nobody
        decides which ratings of another person stay.
        """
        sort_keys: list[NDArray[Any]] = [self._hash_pairs()]
        if self.timestamps is not None:
            sort_keys.append(self.timestamps)
        order = np.lexsort([*sort_keys, self.users])  # by person, then time, then hash
        ends = self.offsets[self.users[order] + 1]
        remaining = ends - np.arange(len(self))  # 1 for a person's last row in this order
        is_kept = np.zeros(len(self), dtype=bool)
        is_kept[order[remaining <= most]] = True
        return self.where(is_kept)

    def _hash_pairs(self) -> NDArray[np.uint64]:
        """Hash the ids of person and item of each rating (n,), equally on every machine."""
        hashes = _hash_ids(self.user_ids)[self.users] + _hash_ids(self.item_ids)[self.items]
        # Without this mixing, the items of all people would be in one circular order.
        hashes ^= hashes >> np.uint64(33)
        hashes *= np.uint64(0xFF51AFD7ED558CCD)
        hashes ^= hashes >> np.uint64(33)
        return hashes

    def compact(self) -> Ratings:
        """Drop people and items without a rating, and renumber the others."""
        rated = np.bincount(self.items, minlength=self.n_items) > 0
        remaining = self.of_users(np.unique(self.users)).of_items(rated)
        # The remaining items depend on what people rated, so they are no public catalogue.
        return replace(remaining, catalogue_given=False)

    def drop_rare(self, *, per_user: int = 1, per_item: int = 1) -> Ratings:
        """Drop people and items with few ratings, until none is left that has few.

        One person's ratings may decide whether other people's stay, so the guarantee of a fit to
        the result holds only if what was left out is public; the card says so.

        Args:
            per_user: The least number of ratings of a person who stays.
            per_item: The least number of ratings of an item that stays.

        Raises:
            DataError: No rating is left.
        """
        current = replace(self.compact(), filtered=True)
        while len(current):
            by_user = np.bincount(current.users, minlength=current.n_users)
            by_item = np.bincount(current.items, minlength=current.n_items)
            rows = (by_user[current.users] >= per_user) & (by_item[current.items] >= per_item)
            if rows.all():
                return current
            current = current.where(rows).compact()
        expected = f"a person with {per_user} ratings of items rated {per_item} times"
        raise DataError("no rating is left", expected=expected, fix="Lower the filters.")


def _hash_ids(ids: Column) -> NDArray[np.uint64]:
    """Hash the text of each id (k,) to 64 bits."""
    digests = []
    for key in ids.tolist():
        text = str(key).encode("utf-8", "surrogatepass")  # may hold half a surrogate pair
        digests.append(hashlib.blake2b(text, digest_size=8).digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
