"""Descriptions of folders that tacit wrote from other files: the `data.json` in them.

Facts that were found in private rows, such as which column holds what, stay conditions of every
guarantee, whether the folder is read or one of its files. So a description that seems to be one of
tacit's and cannot be read is refused. Files of the same name that other programs wrote are ignored.
"""

from __future__ import annotations

import json
import stat
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
FORMAT = 1
"""Version of the format of the folder that `write_folder` writes."""
CATALOGUE = "catalogue.parquet"
"""Name of the file of item metadata."""
MARK = '"tacit '
"""Begin of the value of `kind` in each description."""
HEAD_LENGTH = 200
"""Number of first bytes of a description that have the mark."""
LARGEST_OTHER = 2**20
"""Largest number of bytes of a file that is parsed without the mark in its first bytes, since
another program may have rewritten a description. Larger files are of other programs."""
TABLES = ("ratings", "events")
"""Values of the key `table`: the name of the file of rows without its ending."""
JOINED_PEOPLE = "joined_people"
"""Key of `Ratings.joined_people` in the description; left out if there are none."""
_FACTS = (
    "catalogue",
    "scale",
    "filter",
    "items",
    "titles",
    "lists",
    "values",
    "encoding",
    "delimiter",
    "header",
    "rows",
    "columns",
    "ids",
    "decimal",
    "dates",
    "times",
    "domains",
    "people",
)
"""Keys of `PUBLIC_FACTS` in `tacit.recommenders.public_facts`: all names of guesses."""


def read_description(folder: Path) -> dict[str, Any] | None:
    """Read the data.json of a folder; None if `write_folder` did not write it.

    Raises:
        DataError: The file cannot be read, and it may be a description.
    """
    description = _read_json(folder)
    return description if _has_kind(description, KIND) else None


def require_description(folder: Path) -> dict[str, Any]:
    """Read the description of a folder that `write_folder` wrote, and check it.

    Raises:
        DataError: This is no imported folder, or its description is damaged, incomplete or of
            another format.
    """
    description = read_description(folder)
    if description is None:
        raise DataError("this is no folder of  tacit data import", path=folder)
    _check_description(description, folder)
    return description


def _read_json(folder: Path) -> Any:
    """Read the values of a folder's data.json; None if it has none, or a file of another program.

    Raises:
        DataError: The file cannot be read, and it may be a description.
    """
    try:
        content = _read_content(folder / FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        if not _has_files_of_tacit(folder):
            return None
        raise unreadable_description_error(folder) from None
    if content is None:
        return None
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        if not has_mark(content) and not (folder / CATALOGUE).exists():
            return None
        raise unreadable_description_error(folder) from None


def _read_content(file: Path) -> bytes | None:
    """Read a file that may be a description; None if it is too large to be one.

    Raises:
        OSError: It is missing, is no ordinary file, or cannot be read.
    """
    if not stat.S_ISREG(file.stat().st_mode):  # opening a pipe would wait for its writer
        raise OSError("no ordinary file")
    with file.open("rb") as stream:
        content = stream.read(LARGEST_OTHER + 1)
        if len(content) <= LARGEST_OTHER:
            return content
        return content + stream.read() if has_mark(content) else None


def has_mark(content: bytes) -> bool:
    """Tell whether the first bytes of a file are like those of a description."""
    return MARK.encode() in content[:HEAD_LENGTH]


def _has_files_of_tacit(folder: Path) -> bool:
    """Tell whether a folder has other files that tacit writes beside a description."""
    try:
        is_found = any((folder / name).exists() for name in (CATALOGUE, "schema.json"))
        return is_found or any(folder.glob("*.inter"))
    except OSError:  # the folder cannot be searched, so its files cannot be read, either
        return False


def unreadable_description_error(folder: str | Path) -> DataError:
    """Make the error for a description that cannot be read or parsed."""
    return DataError(
        "the description of the folder cannot be read",
        path=f"{folder}/{FILE}",
        expected="the JSON that tacit wrote, in UTF-8",
        fix="Make it readable, or import the files again into a new folder. If another program "
        "wrote it, move it to another folder.",
    )


def _has_kind(description: Any, *kinds: str) -> bool:
    """Tell whether the values of a data.json are those of a folder of tacit of such a kind."""
    return isinstance(description, dict) and description.get("kind") in kinds


def is_description(description: Any) -> bool:
    """Tell whether the values of a data.json are those of a folder that tacit wrote."""
    return _has_kind(description, KIND, EXPORT_KIND)


def _check_description(description: Mapping[str, Any], folder: str | Path) -> None:
    """Check the description of an imported folder.

    Raises:
        DataError: It has another format, lacks a key that readers need, or has a wrong value.
    """
    if description.get("format") != FORMAT:
        raise DataError(
            "the folder has another format",
            path=folder,
            found=description.get("format"),
            expected=f"format {FORMAT}",
            fix="Import the files again with this version.",
        )
    _require_keys(description, ("table", "scale", "public", "guesses"), folder)
    if description["table"] not in TABLES:
        raise _wrong_value_error("table", "'ratings' or 'events'", folder)
    if not isinstance(description["scale"], str):
        raise _wrong_value_error("scale", "a text such as '1:5:1'", folder)
    public = description["public"]
    if not isinstance(public, dict):
        raise _wrong_value_error("public", "an object", folder)
    _require_keys(public, ("catalogue", "scale"), folder)
    for key in ("catalogue", "scale", "filter"):
        if not isinstance(public.get(key, True), bool):
            raise _wrong_value_error(key, "true or false", folder)
    _check_guesses(description["guesses"], folder)
    if not _is_list_of_texts(description.get(JOINED_PEOPLE, [])):
        raise _wrong_value_error(JOINED_PEOPLE, "a list of texts", folder)


def _require_keys(values: Mapping[str, Any], keys: Sequence[str], folder: str | Path) -> None:
    """Raise DataError if a description, or a part of it, lacks a key that readers need."""
    for key in keys:
        if key not in values:
            raise DataError(
                "the description of the folder is incomplete",
                path=f"{folder}/{FILE}",
                expected=f"the key '{key}'",
                fix="Import the files again.",
            )


def _check_guesses(guesses: Any, folder: str | Path) -> None:
    """Raise DataError unless the value of `guesses` is a list of names of facts."""
    if not _is_list_of_texts(guesses):
        raise _wrong_value_error("guesses", "a list of texts", folder)
    for name in guesses:
        if name not in _FACTS:
            raise DataError(
                "the description of the folder names an unknown fact",
                path=f"{folder}/{FILE}",
                found=name,
                fix="Import the files again with this version.",
            )


def _is_list_of_texts(values: Any) -> bool:
    """Tell whether a value of a description is a list of texts."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _wrong_value_error(key: str, expected: str, folder: str | Path) -> DataError:
    """Make the error for a value of a description that has a wrong type."""
    return DataError(
        f"the description of the folder has a wrong value of '{key}'",
        path=f"{folder}/{FILE}",
        expected=expected,
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
        file: The file, or a link to one; or a folder of files.

    Returns:
        Keys of `PUBLIC_FACTS` in `tacit.recommenders.public_facts`; none in other folders, and none
        for a pipe.

    Raises:
        DataError: The description of the folder cannot be read or is incomplete.
    """
    file = Path(file)
    places = [file.absolute(), file.resolve()]
    folders = [place.parent for place in places]
    if file.is_dir():
        folders.append(file.absolute())
    elif file.exists() and not file.is_file():
        return ()
    guesses: list[str] = []
    for folder in dict.fromkeys(folders):
        if folder / FILE not in places:  # a table may have this name, too
            guesses += list_guesses(_read_json(folder), folder)
    return tuple(dict.fromkeys(guesses))


def list_guesses(description: Any, folder: str | Path) -> list[str]:
    """List the facts of a description, as `find_guesses` does.

    Args:
        description: The values of a data.json, which another program may have written; None: there
            is none.
        folder: The folder, for messages.

    Raises:
        DataError: The description is incomplete, or has a wrong value.
    """
    if _has_kind(description, EXPORT_KIND):
        _require_keys(description, ("guesses",), folder)
        _check_guesses(description["guesses"], folder)
        return [*description["guesses"]]
    if not _has_kind(description, KIND):
        return []
    _check_description(description, folder)
    is_filtered = not description["public"].get("filter", True)
    names = [*description["guesses"]]
    return ["filter", *names] if is_filtered else names
