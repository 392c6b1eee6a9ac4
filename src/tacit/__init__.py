"""Private recommendation: recommenders with privacy claims that one can read and attack.

Every name below is imported when it is first used, so `import tacit` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.auditing.attacks.any_model import attack
    from tacit.data import Ratings, RatingScale, generate, load, ratings_from, read_ratings
    from tacit.designs.pdap.model import PDap
    from tacit.designs.prec import PRec, PRecSettings
    from tacit.designs.private import Private
    from tacit.designs.sketches.model import Sketches
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.designs.xmap import XMap
    from tacit.errors import (
        ConfigError,
        DataError,
        DownloadError,
        MissingExtra,
        ModelFileError,
        NotFittedError,
        OutputError,
        PrivacyError,
        TacitError,
    )
    from tacit.randomness import secure
    from tacit.recommenders import load_model
    from tacit.recommenders.baselines import ItemMean, MatrixFactorization, Popularity

    __version__: str

__all__ = [
    "ConfigError",
    "DataError",
    "DownloadError",
    "ItemMean",
    "MatrixFactorization",
    "MissingExtra",
    "ModelFileError",
    "NotFittedError",
    "OutputError",
    "PDap",
    "PRec",
    "PRecSettings",
    "Popularity",
    "PrivacyError",
    "Private",
    "RatingScale",
    "Ratings",
    "Sketches",
    "StandardScheme",
    "TacitError",
    "XMap",
    "__version__",
    "attack",
    "generate",
    "load",
    "load_model",
    "ratings_from",
    "read_ratings",
    "secure",
]

_HOMES = {
    "tacit.auditing.attacks.any_model": ("attack",),
    "tacit.data": ("RatingScale", "Ratings", "generate", "load", "ratings_from", "read_ratings"),
    "tacit.designs.pdap.model": ("PDap",),
    "tacit.designs.prec": ("PRec", "PRecSettings"),
    "tacit.designs.private": ("Private",),
    "tacit.designs.sketches.model": ("Sketches",),
    "tacit.errors": (
        "ConfigError",
        "DataError",
        "DownloadError",
        "MissingExtra",
        "ModelFileError",
        "NotFittedError",
        "OutputError",
        "PrivacyError",
        "TacitError",
    ),
    "tacit.randomness": ("secure",),
    "tacit.recommenders": ("load_model",),
    "tacit.recommenders.baselines": ("ItemMean", "MatrixFactorization", "Popularity"),
    "tacit.designs.standard_scheme": ("StandardScheme",),
    "tacit.designs.xmap": ("XMap",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tacit-rec")
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'tacit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
