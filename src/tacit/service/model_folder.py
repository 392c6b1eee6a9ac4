"""The folder of a service that serves a single model file."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.errors import ConfigError
from tacit.recommenders import load_model
from tacit.service.keys import LONGEST_NAME, Role, add_key
from tacit.service.served_models import read_words
from tacit.service.setting_tables import TOML

TENANT = "local"
"""Tenant of a folder that is made here."""
MODEL_FILE = "model.tacit"
"""Name of the copy of the model in the folder."""


def make_model_folder(model: Path, item_word: str | None = None) -> tuple[Path, dict[str, str]]:
    """Make a service's folder beside a model file; if it was made before, only copy the model.

    Args:
        model: A model file NAME.tacit; the folder is NAME-service.
        item_word: What one item is called on the page; None: as in a folder that was made before,
            or else "item".

    Returns:
        The folder, and the keys that were made for it, by role; no keys if it was made before.

    Raises:
        ConfigError: Something else has the folder's name, the word is malformed, or the folder was
            made before and a word is given.
        ModelFileError: The file is no model.
    """
    if item_word is not None:
        read_words("--item-word", item_word)
    load_model(model)  # refuses a file that is no model, before a folder is made
    folder = model.with_name(f"{model.stem}-service")
    settings_file = folder / TOML
    already_made = settings_file.is_file()
    if folder.exists() and not already_made:
        raise ConfigError(f"{folder}: is there and holds no {TOML}. Rename it, or the model.")
    if already_made and item_word is not None:
        raise ConfigError(
            f'{settings_file} says what items are called: write  item_word = "{item_word}"  there, '
            "and leave out --item-word."
        )
    content = model.read_bytes()
    folder.mkdir(exist_ok=already_made)
    write_whole(folder / MODEL_FILE, content)
    if already_made:
        return folder, {}
    key = add_key(folder / "keys.json", "operator", Role.OPERATOR, TENANT)
    write_whole(settings_file, _make_first_settings(model.stem, item_word or "item").encode())
    return folder, {Role.OPERATOR.value: key}


def _make_first_settings(stem: str, item_word: str) -> str:
    """Make the text of tacit.toml for one model, which is named after the stem of its file.

    In the name, capital letters become small ones, and then each run of other characters than a-z,
    0-9, _ and - becomes a hyphen. Hyphens and _ at its ends are removed, and characters beyond the
    64 that a name may have. If nothing is left, the name is "model".
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_")
    name = name[:LONGEST_NAME].rstrip("-_") or "model"
    return f"""# What is served. Each setting: docs/settings.md.
tenant = "{TENANT}"

[models.{name}]
file = "{MODEL_FILE}"
item_word = "{item_word}"  # what one item is called on the page
"""
