"""A design is one way to recommend under one kind of trust; the registry knows all of them.

A design's folder has a `design.py` with `DESIGN = Design(...)`. Designs of other packages are found
by the entry point group `tacit.designs`, whose values name such an object. Nothing is imported
before its name is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.privacy import Guarantee

BUILT_IN = ("private", "standard-scheme", "xmap", "sketches", "prec", "pdap")
GROUP = "tacit.designs"


@dataclass(frozen=True)
class Design:
    """What commands need of a design.

    name: as commands spell it. title: as people read it. citation: of the paper.
    models: names in model files, each with its class in the design's package.
    card_settings: a frozen dataclass, made with `option`. Its fields are the options of
    `tacit guarantee NAME`.
    cards: the guarantee cards of such settings, before anything is fitted; ConfigError for
    settings that no model could have.
    after_cards: the command that a reader of the cards types next, and what it does.
    """

    name: str
    title: str
    citation: str
    models: Mapping[str, str]
    card_settings: type[Any]
    cards: Callable[[Any], tuple[Guarantee, ...]]
    after_cards: str

    @property
    def package(self) -> str:
        """The module that has the design's classes."""
        return self.card_settings.__module__.rpartition(".")[0]


def option(help: str, *, default: Any = MISSING, least: float | None = None) -> Any:  # noqa: A002
    """A field of settings that is also an option of a command. least: the smallest value."""
    return field(default=default, metadata={"help": help, "least": least})


def options_of(settings: type[Any]) -> dict[str, Field[Any]]:
    """The fields of a settings class that are options, by name."""
    return {each.name: each for each in fields(settings) if "help" in each.metadata}


def names() -> tuple[str, ...]:
    """All designs: those of tacit, then those of other packages."""
    return (*BUILT_IN, *(name for name in _elsewhere() if name not in BUILT_IN))


def design(name: str) -> Design:
    """The design of that name; ConfigError if there is none."""
    if name in BUILT_IN:
        module = import_module(f"tacit.designs.{name.replace('-', '_')}.design")
        found: Design = module.DESIGN
        return found
    elsewhere = _elsewhere()
    if name not in elsewhere:
        raise ConfigError(f"No design '{name}'. Known: {', '.join(names())}.")
    loaded = elsewhere[name].load()
    if not isinstance(loaded, Design):
        raise ConfigError(
            f"The entry point {name} of {GROUP} names no Design but a {type(loaded).__name__}. "
            "Correct it in the package that has it."
        )
    return loaded


def model_class(kind: str) -> type[Any] | None:
    """The class that reads a model file of this name; None if no design has it."""
    for found in map(design, names()):
        if kind in found.models:
            read: type[Any] = getattr(import_module(found.package), found.models[kind])
            return read
    return None


def design_of(model: object) -> Design | None:
    """The design that a fitted model is of; None for a baseline."""
    home = type(model).__module__
    return next((d for d in map(design, names()) if home.startswith(f"{d.package}.")), None)


def _elsewhere() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
