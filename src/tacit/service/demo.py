"""A demonstration: the folder of a service on generated data, with every design that is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.design import design, names, served_sections
from tacit.errors import ConfigError
from tacit.service.keys import Role, add_key
from tacit.service.kinds import MODELS
from tacit.service.setting_tables import TOML

TENANT = "demo"
"""Name of the tenant of a demonstration."""
_FIRST_SECTION = f"""# What is served, on generated data. Each setting: docs/settings.md.
tenant = "{TENANT}"
"""
_SPLIT_SECTION = """[splits.home]
model = "lists"  # its lists are compared with popular items: who clicked, in noisy daily figures
"""
"""Section of the demonstration's comparison of lists."""
_ROLES = (Role.OPERATOR, Role.ANALYST, Role.AUDITOR, Role.VENDOR, Role.RECOMMEND, Role.EDITOR)
"""Roles for which a key is made. The key has the role's name."""


@dataclass(frozen=True)
class Demo:
    """A demonstration's folder and the keys that were made for it."""

    folder: Path
    keys: dict[str, str]
    """Keys by role. They are stored nowhere else."""


def make_demo(folder: Path) -> Demo:
    """Make the folder of a demonstration: models, tacit.toml and keys. It takes some seconds.

    Args:
        folder: Folder to make; it may exist if it is empty.

    Raises:
        ConfigError: The folder is not empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(
            f"{folder}: is not empty. Name a new folder for --demo, or serve this one without it."
        )
    # A design's function writes its files into the folder, and returns its sections of tacit.toml.
    sections = [_FIRST_SECTION]
    for name in names():
        model_design = design(name)
        if MODELS in model_design.parts:
            write_model = model_design.part(MODELS)
            sections.append(write_model(folder))
    for served_design, served in served_sections().values():
        write_things = served_design.load(served.demo)
        sections.append(write_things(folder))
    sections.append(_SPLIT_SECTION)
    write_whole(folder / TOML, "\n".join(sections).encode())
    keys = {}
    for role in _ROLES:
        keys[role.value] = add_key(folder / "keys.json", role.value, role, TENANT)
    return Demo(folder, keys)
