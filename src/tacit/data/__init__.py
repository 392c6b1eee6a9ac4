"""Ratings: read, generate, download, split, write. Names are imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.data.domains import cross_domain_split as cross_domain_split
    from tacit.data.domains import domain_names as domain_names
    from tacit.data.domains import domain_of as domain_of
    from tacit.data.domains import item_features as item_features
    from tacit.data.domains import items_in as items_in
    from tacit.data.domains import of_domain as of_domain
    from tacit.data.domains import on_catalogue as on_catalogue
    from tacit.data.domains import ratings_in_domain as ratings_in_domain
    from tacit.data.domains import split_by_genre as split_by_genre
    from tacit.data.domains import straddlers as straddlers
    from tacit.data.domains import with_domains as with_domains
    from tacit.data.frames import ratings_from as ratings_from
    from tacit.data.movielens import is_movielens as is_movielens
    from tacit.data.movielens import read_movielens as read_movielens
    from tacit.data.ratings import Ratings as Ratings
    from tacit.data.ratings import RatingScale as RatingScale
    from tacit.data.splits import Split as Split
    from tacit.data.splits import k_fold_users as k_fold_users
    from tacit.data.splits import random_per_user as random_per_user
    from tacit.data.splits import temporal as temporal
    from tacit.data.synthetic import generate as generate
    from tacit.data.tables.folder import write_items as write_items
    from tacit.data.tables.folder import write_ratings as write_ratings
    from tacit.data.tables.folder import write_users as write_users
    from tacit.data.tabular import load as load
    from tacit.data.tabular import read_catalogue as read_catalogue
    from tacit.data.tabular import read_history as read_history
    from tacit.data.tabular import read_history_times as read_history_times
    from tacit.data.tabular import read_ratings as read_ratings
    from tacit.data.tabular import with_items as with_items

_HOMES = {
    "ratings": ("RatingScale", "Ratings"),
    "domains": (
        "cross_domain_split",
        "domain_names",
        "domain_of",
        "item_features",
        "items_in",
        "of_domain",
        "on_catalogue",
        "ratings_in_domain",
        "split_by_genre",
        "straddlers",
        "with_domains",
    ),
    "frames": ("ratings_from",),
    "movielens": ("is_movielens", "read_movielens"),
    "splits": ("Split", "k_fold_users", "random_per_user", "temporal"),
    "synthetic": ("generate",),
    "tables.folder": ("write_items", "write_ratings", "write_users"),
    "tabular": (
        "load",
        "read_catalogue",
        "read_history",
        "read_history_times",
        "read_ratings",
        "with_items",
    ),
}
"""Module of this package to the names that are loaded from it."""
_MODULE_OF_NAME = {name: module for module, names in _HOMES.items() for name in names}
"""Name to its module."""
__all__ = list(_MODULE_OF_NAME)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tacit.data' has no attribute '{name}'")
    return getattr(import_module(f"tacit.data.{_MODULE_OF_NAME[name]}"), name)
