"""The registry of designs: those of tacit, and those of other packages.

Other packages register their designs as entry points of the group `tacit.designs`. A design is
imported only when it is needed.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tacit.design.declaration import Design, ServedSection
from tacit.errors import ConfigError
from tacit.extensions import DESIGNS, find_entry_points

if TYPE_CHECKING:
    from tacit.privacy.officer_card import FitCount

BUILT_IN = ("private", "standard-scheme", "xmap", "sketches", "prec", "pdap")
"""Names of the designs of tacit itself."""


def names() -> tuple[str, ...]:
    """Return the names of all designs: first those of tacit, then those of other packages."""
    other_names = [name for name in find_entry_points(DESIGNS) if name not in BUILT_IN]
    return (*BUILT_IN, *other_names)


def design(name: str) -> Design:
    """Import and return the design of a name.

    Raises:
        ConfigError: There is no such design, or another package's entry point is not a `Design`.
    """
    if name in BUILT_IN:  # found without a search of the installed packages, which is slow
        loaded_design = resolve_name(f"{_package(name)}.design:DESIGN")
    else:
        entry_points = find_entry_points(DESIGNS)
        if name not in entry_points:
            raise ConfigError(f"No design '{name}'. Known: {', '.join(names())}.")
        loaded_design = entry_points[name].load()
    if not isinstance(loaded_design, Design):
        raise ConfigError(
            f"The entry point {name} of {DESIGNS} names no Design but a "
            f"{type(loaded_design).__name__}. Correct it in the package that has it."
        )
    return loaded_design


def served_sections() -> dict[str, tuple[Design, ServedSection]]:
    """Return the kinds of sections of tacit.toml that designs serve, by the section's first word.

    Returns:
        For each first word, the design and its kind of section; sorted by the word.
    """
    by_noun = {}
    for owner in map(design, names()):
        for section in owner.served:
            by_noun[section.noun] = (owner, section)
    return dict(sorted(by_noun.items()))


def model_class(kind: str) -> type[Any] | None:
    """Return the class for model files with this kind in their header; None if no design has it."""
    for owner in map(design, names()):
        if kind in owner.models:
            model: type[Any] = resolve_name(f"{owner.package}:{owner.models[kind]}")
            return model
    return None


def design_of(model: object) -> Design | None:
    """Return the design of a fitted model; None for a baseline, which is of no design."""
    module = type(model).__module__
    candidates = [name for name in BUILT_IN if module.startswith(f"{_package(name)}.")]
    if not candidates:  # only then are designs of other packages imported
        candidates = [name for name in names() if name not in BUILT_IN]
    for owner in map(design, candidates):
        if module.startswith(f"{owner.package}."):
            return owner
    return None


def fit_count(model: object) -> FitCount | None:
    """Count the fits made and left under a model's budget; None if its design counts no fits."""
    owner = design_of(model)
    if owner is None or "count_fits" not in owner.parts:
        return None
    count: FitCount = owner.part("count_fits")(model)
    return count


def usefulness(model: object) -> str | None:
    """Say in sentences whether a fitted model's lists are expected to beat popularity.

    The design's part `useful` says so of the model, from public sizes or released numbers. For a
    design without this part, the text is its `works_from`, which holds for every model.

    Returns:
        The sentences; None for a baseline.
    """
    owner = design_of(model)
    if owner is None:
        return None
    if "useful" not in owner.parts:
        return owner.works_from
    sentences: str = owner.part("useful")(model)
    return sentences


def _package(name: str) -> str:
    """Return the package of a design of tacit."""
    return f"tacit.designs.{name.replace('-', '_')}"
