"""Folders to begin with: a deployment on generated data, and one around a single model file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.design import design, names, served_sections
from tacit.errors import ConfigError
from tacit.recommenders import load_model
from tacit.service.deployment import MODELS
from tacit.service.keys import Role, add_key
from tacit.service.settings import FILE

ITEMS = 200
_SEED = 7


@lru_cache(maxsize=1)
def population() -> Ratings:
    """Ratings of generated people of two genders. No row is about anybody."""
    return generate(users=600, items=ITEMS, ratings=24_000, seed=_SEED)


_ADJECTIVES = (
    "Silent Crooked Golden Borrowed Northern Hollow Patient Scarlet Unfinished Distant Wooden "
    "Paper Second Stolen Quiet Bitter Electric Frozen Painted Restless"
)
_NOUNS = (
    "Harbour Lighthouse Orchard Staircase Violin Winter Bridge Letter Garden Mirror Ferry Compass "
    "Market Tower Island Lantern River Clockmaker Neighbour Cartographer"
)
_NAMES = (
    "Clara Anselm Ines Otto Maya Tomas Greta Elias Nora Viktor Amara Felix Lena Rafael Ida Sami "
    "Judith Leon Zofia Hugo"
)
_PLACES = (
    "Lisbon Trieste Bergen Tallinn Valparaiso Marseille Galway Salonica Odense Kyoto Zanzibar Cork "
    "Ghent Montevideo Riga Dakar Naples Oslo Tbilisi Samarkand"
)


def film_titles(count: int) -> list[str]:
    """As many titles, at most 400, each once; a longer list begins with the shorter one."""
    return [f"The {one} {other}" for one, other in _pairs(_ADJECTIVES, _NOUNS, count)]


def book_titles(count: int) -> list[str]:
    """As `film_titles`, and none of those."""
    return [f"{one} in {other}" for one, other in _pairs(_NAMES, _PLACES, count)]


def _pairs(first: str, second: str, count: int) -> list[tuple[str, str]]:
    """Each once, and both words change from one to the next."""
    these, those = first.split(), second.split()
    size = len(these)
    return [(these[at % size], those[(at + at // size) % size]) for at in range(count)]


TENANT, LOCAL = "demo", "local"
_HEAD = f"""# What is served, on generated data. Each setting: docs/settings.md.
tenant = "{TENANT}"
"""


@dataclass(frozen=True)
class Demo:
    """keys: of each role that has keys in the file, by role; they are known here alone."""

    folder: Path
    keys: dict[str, str]


def make_demo(folder: Path) -> Demo:
    """Write the deployment; seconds. The folder is new or empty, or ConfigError."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(
            f"{folder}: is not empty. Name a new folder for --demo, or serve this one without it."
        )
    sections = [one.part(MODELS)(folder) for one in map(design, names()) if MODELS in one.parts]
    sections += [owner.load(one.demo)(folder) for owner, one in served_sections().values()]
    write_whole(folder / FILE, "\n".join([_HEAD, *sections]).encode())
    roles = (Role.OPERATOR, Role.ANALYST, Role.AUDITOR, Role.VENDOR)
    keys = {role.value: add_key(folder / "keys.json", role.value, role, TENANT) for role in roles}
    return Demo(folder, keys)


def serve_model(model: Path) -> tuple[Path, dict[str, str]]:
    """The folder beside a model file, and the keys made for it, which are known here alone. It is
    made the first time. Later the model is copied again, and nothing else is changed."""
    load_model(model)  # what is no model is refused before a folder is made
    name = re.sub(r"[^a-z0-9_-]+", "-", model.stem.lower()).strip("-_") or "model"
    folder = model.with_name(f"{model.stem}-service")
    settings = folder / FILE
    made = settings.is_file()
    if folder.exists() and not made:
        raise ConfigError(f"{folder}: is there and holds no {FILE}. Rename it, or the model.")
    content = model.read_bytes()
    folder.mkdir(exist_ok=made)
    write_whole(folder / "model.tacit", content)
    if made:
        return folder, {}
    key = add_key(folder / "keys.json", "operator", Role.OPERATOR, LOCAL)
    write_whole(
        settings,
        f"""# What is served. Each setting: docs/settings.md.
tenant = "{LOCAL}"

[models.{name}]
file = "model.tacit"
""".encode(),
    )
    return folder, {Role.OPERATOR.value: key}
