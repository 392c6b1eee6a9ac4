"""Tables of tacit.toml, and the classes of settings that they are read as.

A field of such a class that `setting` makes is one line of the table:

    @dataclass(frozen=True, kw_only=True)
    class ModelSettings:
        file: str = setting("a model file of `tacit fit`")

docs/settings.md is generated from these classes.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tacit.errors import ConfigError

TOML = "tacit.toml"
"""Name of the file that says what is served, and how."""
PINNED_FOLDER = "TACIT_PINNED"
"""Environment variable of a service's workers: a folder with tacit.toml as it was when the service
started. A worker that replaces another reads that copy, even if the file was edited since."""
NOT_OF_TYPE = {
    str: "no text",
    bool: "not true or false",
    float: "no number",
    int: "no whole number",
    list: "no list",
    dict: "no table",
}
"""The types that a setting may have, each with what an error says of a value of another type."""

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
    """Make a dataclass field that is a line of tacit.toml, and a line of docs/settings.md.

    Args:
        meaning: What the setting means, for the documentation.
        default: Its value where the line is missing; without a default the line is required.
        unit: Unit of a number; "" for a setting without unit.
        above: Bound that a number has to exceed; None: no bound.
        refused: Other values that are refused, in words; "": none.
        default_text: The default in words, for the documentation; "": `default` is shown.
        table: Class of the settings of each table in this one; None: the setting is no table.
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
    """Return the type of each setting of a class, by name; for `str | None` it is `str`."""
    hints = get_type_hints(settings)
    types = {}
    for setting_field in fields(settings):
        if "meaning" in setting_field.metadata:
            types[setting_field.name] = _find_setting_type(hints[setting_field.name])
    return types


def _find_setting_type(hint: Any) -> type:
    """Find the type of a setting in its annotation: `list` in `list[str]`, `str` in `str | None`.

    Raises:
        TypeError: The annotation has no type of NOT_OF_TYPE.
    """
    for alternative in (hint, *get_args(hint)):
        origin = get_origin(alternative) or alternative
        if origin in NOT_OF_TYPE:
            return origin  # type: ignore[no-any-return]  # a key of NOT_OF_TYPE
    raise TypeError(f"{hint} is no type of a setting")


def read_table(
    settings: type[SettingsClass], where: str, values: Mapping[str, Any]
) -> SettingsClass:
    """Read a table of tacit.toml as an instance of a class of settings.

    Args:
        settings: A dataclass whose fields are made by `setting`.
        where: Name of the table in errors.
        values: The table.

    Raises:
        ConfigError: A setting is unknown, missing, of another type, or a whole number below 0.
    """
    # A required setting that is missing is None here, which `check_table` refuses.
    values_or_none: dict[str, Any] = {}
    for setting_field in fields(settings):  # type: ignore[arg-type]
        if setting_field.default is MISSING:
            values_or_none[setting_field.name] = None
    values_or_none.update(values)
    return settings(**check_table(settings, where, values_or_none))


def check_table(settings: type[Any], where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Check the names and types of a table's values.

    Args:
        settings: A dataclass whose fields are made by `setting`.
        where: Name of the table in errors.
        values: The table, or a part of it; None for a required setting that is missing.

    Returns:
        The values; a whole number is a float where the setting is a float.

    Raises:
        ConfigError: A setting is unknown, missing, of another type, too large for a float, or a
            whole number below 0.
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
        checked[name] = value
        if setting_type is float and type(value) is int:
            try:
                checked[name] = float(value)
            except OverflowError:
                raise ConfigError(
                    f"{TOML}: {where}.{name} is too large: it is a number below 1e308."
                ) from None
        if type(checked[name]) is not setting_type:
            wrong = NOT_OF_TYPE[setting_type]
            raise ConfigError(f"{TOML}: {where}.{name} is missing or is {wrong}.")
        if isinstance(value, int) and value < 0:
            raise ConfigError(f"{TOML}: {where}.{name} is below 0.")
    return checked


def read_toml(folder: Path) -> dict[str, Any]:
    """Read the folder's tacit.toml; in one of several workers, the copy in PINNED_FOLDER.

    Raises:
        ConfigError: There is no such file, or it is not TOML.
    """
    path = Path(os.environ.get(PINNED_FOLDER, folder)) / TOML
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: is missing. It says what is served;  tacit serve --demo "
            f"{shlex.quote(f'{folder.absolute().name}-demo')}  writes one to start from."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML ({error}).") from None
