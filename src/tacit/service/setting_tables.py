"""Tables of tacit.toml and the classes that read them: each field made by `setting` is one line.

    @dataclass(frozen=True, kw_only=True)
    class ModelSettings:
        file: str = setting("a model file of `tacit fit`")

docs/settings.md is generated from these classes.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tacit.errors import ConfigError

TOML = "tacit.toml"
"""Name of the file that says what is served, and how."""
PINNED_FOLDER = "TACIT_PINNED"
"""Variable of the environment of a service's workers: a folder with tacit.toml as it was when the
service started. A worker that replaces another goes on with it, whatever was edited since."""
NOT_OF_TYPE = {
    str: "no text",
    bool: "not true or false",
    float: "no number",
    int: "no whole number",
    list: "no list",
    dict: "no table",
}
"""The types that a setting may have, each with what an error says of a value that is of another."""

SettingsClass = TypeVar("SettingsClass")


def setting(
    meaning: str,
    default: Any = MISSING,
    *,
    unit: str = "",
    above: float | None = None,
    refused: str = "",
    default_text: str = "",
    table: type[Any] | None = None,
) -> Any:
    """A dataclass field that is a line of tacit.toml, with its line in docs/settings.md.

    Args:
        meaning: What the setting says.
        default: Its value where the line is missing; without a default the line is required.
        unit: Unit of a number.
        above: A number has to be larger than this.
        refused: Other values that are refused, in words.
        default_text: The default in words, where it is None.
        table: Class of settings of the tables below this one.
    """
    metadata = {
        "meaning": meaning,
        "unit": unit,
        "above": above,
        "refused": refused,
        "default_text": default_text,
        "table": table,
    }
    return field(default=default, metadata=metadata)


def setting_types(settings: type[Any]) -> dict[str, type]:
    """The type of each setting of a class, by name; an optional one's without None."""
    hints = get_type_hints(settings)
    types = {}
    for one_field in fields(settings):
        if "meaning" in one_field.metadata:
            types[one_field.name] = _setting_type(hints[one_field.name])
    return types


def _setting_type(hint: Any) -> type:
    for part in (hint, *get_args(hint)):
        origin = get_origin(part) or part
        if origin in NOT_OF_TYPE:
            return origin  # type: ignore[no-any-return]  # a key of NOT_OF_TYPE
    raise TypeError(f"{hint} is no type of a setting")


def read_table(
    settings: type[SettingsClass], where: str, values: Mapping[str, Any]
) -> SettingsClass:
    """Read a table of tacit.toml as its class of settings.

    Args:
        settings: A dataclass whose fields are made by `setting`.
        where: Name of the table in errors.
        values: The table.

    Raises:
        ConfigError: A setting is unknown, missing, or of another type.
    """
    with_missing: dict[str, Any] = {}
    for one_field in fields(settings):  # type: ignore[arg-type]
        if one_field.default is MISSING:
            with_missing[one_field.name] = None
    with_missing.update(values)
    return settings(**check_table(settings, where, with_missing))


def check_table(settings: type[Any], where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Check names and types of a table's values; whole numbers become numbers where those are due.

    Args:
        settings: A dataclass whose fields are made by `setting`.
        where: Name of the table in errors.
        values: The table, or a part of it.

    Raises:
        ConfigError: A setting is unknown, or of another type.
    """
    types = setting_types(settings)
    unknown = sorted(set(values) - set(types))
    if unknown:
        raise ConfigError(
            f"{TOML}: {where} has no setting '{unknown[0]}'. There are: {', '.join(sorted(types))}."
        )
    checked = {}
    for name, value in values.items():
        setting_type = types[name]
        is_negative = isinstance(value, int) and value < 0
        if setting_type is float and type(value) is int:
            checked[name] = float(value)
        else:
            checked[name] = value
        if type(checked[name]) is not setting_type or is_negative:
            wrong = NOT_OF_TYPE[setting_type]
            raise ConfigError(f"{TOML}: {where}.{name} is missing or is {wrong}.")
    return checked


def read_toml(folder: Path) -> dict[str, Any]:
    """Read the folder's tacit.toml.

    Raises:
        ConfigError: There is none, or it is not TOML.
    """
    path = Path(os.environ.get(PINNED_FOLDER, folder)) / TOML
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: is missing. It says what is served;  tacit serve --demo {folder.name}-demo  "
            "writes one to start from."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML ({error}).") from None
