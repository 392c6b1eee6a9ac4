"""Private recommendation: recommenders whose privacy claims one can read and attack.

Every public name is imported from its module when it is first used, so `import tacit` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.auditing.attacks.any_model import attack as attack
    from tacit.data import Ratings as Ratings
    from tacit.data import RatingScale as RatingScale
    from tacit.data import generate as generate
    from tacit.data import load as load
    from tacit.data import ratings_from as ratings_from
    from tacit.data import read_ratings as read_ratings
    from tacit.designs.pdap.model import PDap as PDap
    from tacit.designs.prec import PRec as PRec
    from tacit.designs.prec import PRecSettings as PRecSettings
    from tacit.designs.private import Private as Private
    from tacit.designs.sketches.model import Sketches as Sketches
    from tacit.designs.standard_scheme import StandardScheme as StandardScheme
    from tacit.designs.xmap import XMap as XMap
    from tacit.errors import ConfigError as ConfigError
    from tacit.errors import DataError as DataError
    from tacit.errors import DownloadError as DownloadError
    from tacit.errors import MissingExtra as MissingExtra
    from tacit.errors import ModelFileError as ModelFileError
    from tacit.errors import NotFittedError as NotFittedError
    from tacit.errors import OutputError as OutputError
    from tacit.errors import PrivacyError as PrivacyError
    from tacit.errors import TacitError as TacitError
    from tacit.evaluation.compare import compare as compare
    from tacit.randomness import secure as secure
    from tacit.recommenders import load_model as load_model
    from tacit.recommenders.baselines import ItemMean as ItemMean
    from tacit.recommenders.baselines import MatrixFactorization as MatrixFactorization
    from tacit.recommenders.baselines import Popularity as Popularity

    __version__: str

# The names that each module gives to the package, for `__getattr__` below.
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
    "tacit.evaluation.compare": ("compare",),
    "tacit.randomness": ("secure",),
    "tacit.recommenders": ("load_model",),
    "tacit.recommenders.baselines": ("ItemMean", "MatrixFactorization", "Popularity"),
    "tacit.designs.standard_scheme": ("StandardScheme",),
    "tacit.designs.xmap": ("XMap",),
}
_MODULE_OF_NAME = {name: module for module, names in _HOMES.items() for name in names}
_MODULE_OF_NAME["__version__"] = "importlib.metadata"
__all__ = list(_MODULE_OF_NAME)


def __getattr__(name: str) -> Any:
    """Import a public name from its module, when it is first used.

    Raises:
        AttributeError: tacit has no such public name.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("tacit-rec")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module 'tacit' has no attribute '{name}'")
    value = getattr(import_module(_MODULE_OF_NAME[name]), name)
    globals()[name] = value  # the next use finds it without this function
    return value


def __dir__() -> list[str]:
    """Return the names in this module and all public names, imported or not."""
    return sorted({*globals(), *__all__})
