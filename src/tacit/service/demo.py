"""A deployment on generated data, written into a folder as a person would write it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tacit.errors import ConfigError
from tacit.service.deployment import NOUNS
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
    for noun in NOUNS:
        module = f"tacit.service.demos.{noun}"
        if find_spec(module) is not None:
            yield import_module(module).make_demo(folder)
