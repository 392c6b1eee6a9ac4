"""Ratings in and out: read, generate, download, split. Names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.domains import (
        cross_domain_split,
        domain_names,
        domain_of,
        items_in,
        of_domain,
        on_catalogue,
        straddlers,
        with_domains,
        within,
    )
    from tacit.data.frames import ratings_from
    from tacit.data.genres import split_by_genre
    from tacit.data.loading import load
    from tacit.data.metadata import item_features
    from tacit.data.movielens import is_movielens, read_movielens
    from tacit.data.ratings import Ratings, RatingScale
    from tacit.data.splits import Split, default_split, k_fold_users, random_per_user, temporal
    from tacit.data.synthetic import generate
    from tacit.data.tables.writing import write_items, write_ratings, write_users
    from tacit.data.tabular import (
        read_catalogue,
        read_history,
        read_items,
        read_ratings,
        read_users,
        with_items,
    )

_HOMES = {
    "ratings": ("RatingScale", "Ratings"),
    "domains": (
        "cross_domain_split",
        "domain_names",
        "domain_of",
        "items_in",
        "of_domain",
        "on_catalogue",
        "straddlers",
        "with_domains",
        "within",
    ),
    "frames": ("ratings_from",),
    "genres": ("split_by_genre",),
    "loading": ("load",),
    "metadata": ("item_features",),
    "movielens": ("is_movielens", "read_movielens"),
    "splits": ("Split", "default_split", "k_fold_users", "random_per_user", "temporal"),
    "synthetic": ("generate",),
    "tables.writing": ("write_items", "write_ratings", "write_users"),
    "tabular": (
        "read_catalogue",
        "read_history",
        "read_items",
        "read_ratings",
        "read_users",
        "with_items",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "RatingScale",
    "Ratings",
    "Split",
    "cross_domain_split",
    "default_split",
    "domain_names",
    "domain_of",
    "generate",
    "is_movielens",
    "item_features",
    "items_in",
    "k_fold_users",
    "load",
    "of_domain",
    "on_catalogue",
    "random_per_user",
    "ratings_from",
    "read_catalogue",
    "read_history",
    "read_items",
    "read_movielens",
    "read_ratings",
    "read_users",
    "split_by_genre",
    "straddlers",
    "temporal",
    "with_domains",
    "with_items",
    "within",
    "write_items",
    "write_ratings",
    "write_users",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tacit.data' has no attribute '{name}'")
    return getattr(import_module(f"tacit.data.{_HOME[name]}"), name)
