"""Descriptions of folders that tacit wrote from other files: the `data.json` in them.

Facts that were found in private rows, such as which column holds what, stay conditions of every
guarantee, whether the folder is read or one of its files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.errors import DataError

FILE = "data.json"
"""Name of the file that describes the folder."""
KIND = "tacit data"
"""Value of the key `kind` in the description of a folder that `write_folder` wrote."""
EXPORT_KIND = "tacit export"
"""The same for a folder that was written for another package."""
CATALOGUE = "catalogue.parquet"
"""Name of the file of item metadata."""


def read_description(folder: Path) -> dict[str, Any] | None:
    """Read the data.json of a folder; None if `write_folder` did not write it."""
    description = _read_json(folder)
    return description if _has_kind(description, KIND) else None


def _read_json(folder: Path) -> Any:
    """Read the values of a folder's data.json; None if it has none."""
    try:
        return json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _has_kind(description: Any, *kinds: str) -> bool:
    """Tell whether the values of a data.json are those of a folder of tacit of such a kind."""
    return isinstance(description, dict) and description.get("kind") in kinds


def require_keys(description: Mapping[str, Any], path: Path) -> None:
    """Raise DataError if the data.json of a folder lacks a key that readers need."""
    for key in ("table", "scale", "public", "guesses"):
        if key not in description:
            raise DataError(
                "the description of the folder is incomplete",
                path=path / FILE,
                expected=f"the key '{key}'",
                fix="Import the files again.",
            )


def describe_export(guesses: Sequence[str]) -> str:
    """Write the text of the data.json of a folder for another package.

    Args:
        guesses: Keys of `PUBLIC_FACTS` in `tacit.recommenders.public_facts`.
    """
    return json.dumps({"kind": EXPORT_KIND, "guesses": list(guesses)}, indent=2) + "\n"


def find_guesses(file: str | Path) -> tuple[str, ...]:
    """Find the facts on which a file rests that lies in a folder that tacit wrote.

    Args:
        file: The file, or a link to one.

    Returns:
        Keys of `PUBLIC_FACTS` in `tacit.recommenders.public_facts`; none in other folders.

    Raises:
        DataError: The description of the folder is incomplete.
    """
    file = Path(file)
    guesses: list[str] = []
    for folder in dict.fromkeys([file.absolute().parent, file.resolve().parent]):
        guesses += list_guesses(_read_json(folder), folder)
    return tuple(dict.fromkeys(guesses))


def list_guesses(description: Any, folder: str | Path) -> list[str]:
    """List the facts of a description, as `find_guesses` does.

    Args:
        description: The values of a data.json, which another program may have written; None: there
            is none.
        folder: The folder, for messages.
    """
    if _has_kind(description, EXPORT_KIND):
        return [str(name) for name in description["guesses"]]
    if not _has_kind(description, KIND):
        return []
    require_keys(description, Path(folder))
    is_filtered = not description["public"].get("filter", True)
    names = [str(name) for name in description["guesses"]]
    return ["filter", *names] if is_filtered else names
