"""Which column of a file or frame holds what: well-known headers, or the name the caller gives.

Headers compare without case, and a type suffix as in `user_id:token` or `rating:float` is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from tacit.errors import DataError

Role = Literal["user", "item", "rating", "plays", "time", "domain"]

KNOWN_HEADERS: dict[Role, tuple[str, ...]] = {
    "user": ("user_id", "userid", "user", "uid"),
    "item": ("item_id", "itemid", "item", "movie_id", "movieid", "movie", "iid"),
    "rating": ("rating", "stars", "score"),
    "plays": ("plays", "play_count", "playcount", "listens", "count", "quantity"),
    "time": ("timestamp", "time", "ts"),
    "domain": (),  # read only where it is asked for
}

_OPTION: dict[Role, str] = {"domain": "domain-column"}


def plain(header: str) -> str:
    """A header as it is compared: lower case, without blanks and without its type suffix."""
    return header.strip().lower().split(":")[0]


def find(role: Role, headers: Sequence[str], asked: str | None) -> int | None:
    """Position of a role's column: the one asked for, else the first well-known one, else None."""
    if asked is not None:
        if asked in headers:
            return list(headers).index(asked)
        wanted: tuple[str, ...] = (asked.strip().lower(),)
        lowered = [header.strip().lower() for header in headers]
    else:
        wanted, lowered = KNOWN_HEADERS[role], [plain(header) for header in headers]
    return next((lowered.index(name) for name in wanted if name in lowered), None)


def choose(
    role: Role,
    headers: Sequence[str],
    asked: str | None,
    *,
    path: object = None,
    required: bool = True,
) -> int | None:
    """Like `find`, but a column that is required, or asked for by name, must be there."""
    position = find(role, headers, asked)
    if position is None and (required or asked is not None):
        raise DataError(
            f"no {role} column",
            path=path,
            found=", ".join(headers),
            expected=f"a column '{asked}'" if asked else "one of " + ", ".join(KNOWN_HEADERS[role]),
            fix=f"Name it with --{_OPTION.get(role, role)} (from Python: {role}=...).",
        )
    return position


def choose_all(
    headers: Sequence[str],
    asked: Mapping[Role, str | None],
    *,
    path: object = None,
    needed: Collection[Role] = ("user", "item"),
    events: bool = False,
) -> dict[Role, int]:
    """Position of every role's column that there is; those in `needed` must be there.

    Stars come before numbers of plays, unless the latter are asked for by name. Without either the
    rows are events. events: they are, whatever columns there are.
    """
    found = {
        role: choose(role, headers, name, path=path, required=role in needed)
        for role, name in asked.items()
    }
    counted = asked.get("plays") is not None
    if events or counted:
        found["rating"] = None
    if not counted and (events or found.get("rating") is not None):
        found["plays"] = None
    return {role: position for role, position in found.items() if position is not None}
