"""One rated catalogue cut into two domains by genre, to try recommenders across domains.

Source   Guerraoui, Kermarrec, Lin and Patra, Heterogeneous recommendations: what you might like to
         read after watching Interstellar (PVLDB 2017), its test within one kind of items: genres
         sorted by their number of items are dealt to the two domains in turn, and an item goes
         where most of its genres are. What to do with a tie is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tacit.data.domains import with_domains
from tacit.data.metadata import listed
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError


def split_by_genre(
    ratings: Ratings, *, column: str = "genres", names: tuple[str, str] = ("D1", "D2")
) -> Ratings:
    """The same ratings with domains; items of unknown genre are left out with their ratings.

    column: item metadata, genres joined by '|'. Genres with equally many items are dealt in
    alphabetical order. An item with as many genres on one side as on the other goes to the side of
    its most common genre, so that no item's place hangs on another tied item.
    """
    if len(set(names)) != 2 or not all(name.strip() for name in names):
        raise ConfigError(f"Two domains need two different names; got {names}.")
    genres = listed(ratings, column)
    counts = Counter(genre for each in genres for genre in each)
    by_size = sorted(counts, key=lambda genre: (-counts[genre], genre))
    if len(by_size) < 2:
        raise DataError("two domains need two genres", found=", ".join(by_size), column=column)
    place = {genre: number for number, genre in enumerate(by_size)}
    items = ratings.item_ids.tolist()
    known = np.array([bool(each) for each in genres])
    domains = {
        item: names[_side([place[genre] for genre in each])]
        for item, each in zip(items, genres, strict=True)
        if each
    }
    if len(set(domains.values())) < 2:
        raise DataError("all items fall into one domain", column=column)
    return with_domains(ratings.where(known[ratings.items]).compact(), domains)


def _side(places: Sequence[int]) -> int:
    """0 or 1, from the places of one item's genres in the order of size."""
    odd = sum(place % 2 for place in places)
    even = len(places) - odd
    return min(places) % 2 if odd == even else int(odd > even)
