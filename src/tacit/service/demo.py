"""A deployment on generated data, written into a folder as a person would write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.design import design, names, nouns
from tacit.errors import ConfigError
from tacit.service.deployment import MODELS
from tacit.service.keys import Role, add_key
from tacit.service.settings import FILE
from tacit.writing import write_whole

TENANT = "demo"
_HEAD = f"""# What is served, on generated data. See docs/service.md for each section.
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
    write_whole(folder / FILE, "\n".join([_HEAD, *_sections(folder)]).encode())
    roles = (Role.OPERATOR, Role.ANALYST, Role.AUDITOR, Role.VENDOR)
    keys = {role.value: add_key(folder / "keys.json", role.value, role, TENANT) for role in roles}
    return Demo(folder, keys)


def _sections(folder: Path) -> Iterator[str]:
    yield from (one.part(MODELS)(folder) for one in map(design, names()) if MODELS in one.parts)
    for owner, one in nouns().values():
        yield owner.load(one.demo)(folder)
