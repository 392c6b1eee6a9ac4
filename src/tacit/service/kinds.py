"""The classes of things that can be served: models, comparisons, and those of registered designs.

The other files of the service name no design: they get classes and routers of designs from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fastapi import APIRouter

from tacit.design import served_sections
from tacit.service.served_models import ServedModel
from tacit.service.served_things import ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import read_toml
from tacit.service.settings import Settings
from tacit.service.splits import Split

MODELS = "models"
"""Noun (word for a kind) of fitted models of any design, in tacit.toml and in addresses."""
SPLITS = "splits"
"""Noun of comparisons of lists. All other nouns are those of designs."""


def installed_kinds() -> dict[str, Callable[[], type[ServedThing]]]:
    """Return for each noun a function that returns the class of the things of this noun.

    The function of a design's noun imports the design.
    """
    kinds: dict[str, Callable[[], type[ServedThing]]] = {
        MODELS: lambda: ServedModel,
        SPLITS: lambda: Split,
    }
    for noun, (design, served) in served_sections().items():
        kinds[noun] = partial(design.load, served.kind)
    return kinds


def installed_routers() -> Iterator[APIRouter]:
    """Import the designs that have resources of their own, and yield their routers."""
    for design, served in served_sections().values():
        yield design.load(served.router)


def open_service(settings: Settings) -> Service:
    """Open a service of things of all installed classes.

    Raises:
        ConfigError: The folder cannot be served.
    """
    return Service.open(settings, installed_kinds())


def list_charged_by_name(folder: Path) -> tuple[str, ...]:
    """List the things of a folder for which each new name in a request counts as another person.

    Each new name gets a budget or a place in such a thing. Only tacit.toml is read: no class is
    imported, and no section is checked.

    Returns:
        Addresses of the things, such as "campaigns/videos".
    """
    content = read_toml(folder)
    charged = []
    for noun, (_, served) in served_sections().items():
        tables = content.get(noun)
        if served.counts_names and isinstance(tables, dict):
            charged += [f"{noun}/{name}" for name in tables]
    return tuple(charged)
