"""Ratings in a folder of `tacit data import` that are read without being held in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.stored_ratings import PublicInputs
from tacit.data.tables.imported_files import CATALOGUE, require_description


def open_folder(folder: Path, public: PublicInputs) -> tuple[Path, PublicInputs]:
    """Name the file of rows of an imported folder, and what the folder says is public.

    Args:
        folder: A folder for which `read_description` returns a description.
        public: What the caller gave; it is kept.

    Returns:
        The file; and the public inputs, with the folder's scale and items if these are public.
        Metadata of items is read in either case.

    Raises:
        DataError: The description is damaged, incomplete or of another format.
    """
    description = require_description(folder)
    is_public = description["public"]
    has_stars = description["table"] != "events"
    if public.scale is None and is_public["scale"] and has_stars:
        public = replace(public, scale=RatingScale.parse(description["scale"]))
    if public.catalogue is None and is_public["catalogue"]:
        public = replace(public, catalogue=folder / CATALOGUE)
    elif public.catalogue is None and public.items is None and _has_metadata(folder):
        public = replace(public, items=folder / CATALOGUE)
    return folder / f"{description['table']}.parquet", public


def _has_metadata(folder: Path) -> bool:
    """Tell whether an imported folder knows more of its items than their ids."""
    try:
        return len(pl.read_parquet_schema(folder / CATALOGUE)) > 1
    except (OSError, pl.exceptions.PolarsError):
        return False
