"""The registry of designs: those of tacit, and those of other packages.

Entry points of the group `tacit.designs` name those of other packages. No design is imported before
its name is asked for.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from tacit.design.declaration import Design, ServedSection
from tacit.errors import ConfigError
from tacit.extensions import DESIGNS, find_entry_points
from tacit.privacy.officer_card import FitCount

BUILT_IN = ("private", "standard-scheme", "xmap", "sketches", "prec", "pdap")
"""Names of the designs of tacit itself."""


def names() -> tuple[str, ...]:
    """List the names of all designs: those of tacit, then those of other packages."""
    others = [name for name in find_entry_points(DESIGNS) if name not in BUILT_IN]
    return (*BUILT_IN, *others)


def design(name: str) -> Design:
    """Find the design of a name.

    Raises:
        ConfigError: There is none, or another package's entry point names something else.
    """
    others = find_entry_points(DESIGNS)
    if name in BUILT_IN:
        loaded = resolve_name(f"{_package(name)}.design:DESIGN")
    elif name in others:
        loaded = others[name].load()
    else:
        raise ConfigError(f"No design '{name}'. Known: {', '.join(names())}.")
    if not isinstance(loaded, Design):
        raise ConfigError(
            f"The entry point {name} of {DESIGNS} names no Design but a {type(loaded).__name__}. "
            "Correct it in the package that has it."
        )
    return loaded


def served_sections() -> dict[str, tuple[Design, ServedSection]]:
    """List the sections of tacit.toml that designs serve, by their first word."""
    by_noun = {}
    for owner in map(design, names()):
        for section in owner.served:
            by_noun[section.noun] = (owner, section)
    return dict(sorted(by_noun.items()))


def model_class(kind: str) -> type[Any] | None:
    """Find the class that reads a model file of this name; None where no design has it."""
    for owner in map(design, names()):
        if kind in owner.models:
            found: type[Any] = resolve_name(f"{owner.package}:{owner.models[kind]}")
            return found
    return None


def design_of(model: object) -> Design | None:
    """Find the design that a fitted model is of; None for a baseline."""
    module = type(model).__module__
    candidates = [name for name in BUILT_IN if module.startswith(f"{_package(name)}.")]
    if not candidates:  # no design of tacit is imported to find out
        candidates = [name for name in names() if name not in BUILT_IN]
    for owner in map(design, candidates):
        if module.startswith(f"{owner.package}."):
            return owner
    return None


def fit_count(model: object) -> FitCount | None:
    """Count the fits made and left for a model's people; None if its design counts no fits."""
    owner = design_of(model)
    if owner is None or "count_fits" not in owner.parts:
        return None
    count: FitCount = owner.part("count_fits")(model)
    return count


def usefulness(model: object) -> str | None:
    """Say whether a fitted model's lists are expected to beat popularity; None for a baseline.

    The sentence has how many people are missing, from public sizes or what was released.
    """
    owner = design_of(model)
    if owner is None:
        return None
    if "useful" not in owner.parts:
        return owner.works_from
    sentence: str = owner.part("useful")(model)
    return sentence


def _package(name: str) -> str:
    return f"tacit.designs.{name.replace('-', '_')}"
