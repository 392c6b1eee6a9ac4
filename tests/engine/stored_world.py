"""A small world in files, and the same in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import tacit
from tacit.data import on_catalogue, read_catalogue
from tacit.data.domains import DOMAIN
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.stored import Public

SCALE = RatingScale(1, 5, 1)
PEOPLE, ITEMS = 700, 90


def write_world(folder: Path) -> tuple[Path, Path]:
    """Ids of text; item 7 in half of all profiles; one person with 30,000 events; rated again."""
    draws = np.random.default_rng(3)
    people = draws.integers(0, PEOPLE, 14_000)
    items = (draws.random(14_000) ** 2 * ITEMS).astype(int)
    half = np.arange(0, PEOPLE, 2)
    users = np.concatenate([people, half, np.full(30_000, 5)])
    items = np.concatenate([items, np.full(len(half), 7), draws.integers(0, ITEMS, 30_000)])
    order = draws.permutation(len(users))
    table = pl.DataFrame(
        {
            "user_id": [f"u{person}" for person in users[order]],
            "item_id": items[order],
            "rating": draws.integers(1, 6, len(users)).astype(float),
            "timestamp": draws.permutation(len(users)) + 1_600_000_000,
        }
    )
    about = pl.DataFrame(
        {
            "item_id": np.arange(ITEMS),
            "genres": [f"g{item % 5}|h{item % 3}" for item in range(ITEMS)],
            "domain": ["s" if item % 2 else "t" for item in range(ITEMS)],
        }
    )
    table.write_parquet(folder / "ratings.parquet", row_group_size=5000)
    about.write_csv(folder / "items.csv")
    return folder / "ratings.parquet", folder / "items.csv"


def public(items: Path) -> Public:
    return Public(scale=SCALE, catalogue=items, item="item_id", domain="domain")


def local(files) -> Ratings:
    known = read_catalogue(files[1], item="item_id", domain="domain")
    ratings = tacit.load(files[0], scale=SCALE)
    return on_catalogue(ratings, known[DOMAIN], metadata=known)
