"""Fits of a service's folder, one after the other: its settings, its budget, its model file.

    refit.toml     how each fit is made, written by  tacit init  and edited by its owner
    newest.tacit   the latest fit, which the next one follows
    fits.db        the ledger that pays for all fits, where they have a lifetime
    lists.tacit    the model that is served

A fit that is worse than the served model by released values is stored as the newest one, since it
is charged, and does not replace what is served. Ratings of people are not asked which of two models
they like better: that would be a release of its own.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from tacit.atomic_writes import write_whole
from tacit.data.stored_ratings import RatingsSource
from tacit.designs.private.model import Private
from tacit.designs.private.refits import Account
from tacit.errors import ConfigError
from tacit.ledger import open_ledger
from tacit.profile_sums.settings import DEFAULT_DELTA, DEFAULT_EPSILON
from tacit.recommenders.model_files import load_model

REFIT_FILE = "refit.toml"
NEWEST = "newest.tacit"
FITS_LEDGER = "fits.db"
DATASET = "ratings"
"""Name of the data set in the ledger of fits."""
LEAST_SHARE = 0.5
"""A new model is worse if its effective population is below this share of the served one's."""

Every = Literal["day", "week", "month"]
FITS_A_YEAR: Mapping[str, int] = {"day": 365, "week": 52, "month": 12}


@dataclass(frozen=True, kw_only=True)
class RefitSettings:
    """The lines of refit.toml."""

    model: str = "lists.tacit"
    """File of the served model, in the folder."""
    epsilon: float = DEFAULT_EPSILON
    """Of one fit; not used in a plan."""
    delta: float = DEFAULT_DELTA
    lifetime: float | None = None
    """Epsilon of all fits together; None: no limit."""
    fits: int | None = None
    """Fits of the plan that shares the lifetime; None: each fit costs `epsilon`."""
    every: Every = "week"
    """How often a new fit is due."""
    catalogue: str | None = None
    """Public list of items, a path; None: the rated items."""
    features: tuple[str, ...] | None = None
    """Columns of the catalogue that tastes are made of; None: the known ones."""
    rows: Mapping[str, Any] = field(default_factory=dict)
    """How the ratings are read, as the options of  tacit init  said."""

    def __post_init__(self) -> None:
        if self.every not in get_args(Every):
            raise ConfigError(f"{REFIT_FILE}: every is day, week or month; got {self.every!r}.")
        if self.fits is not None and self.lifetime is None:
            raise ConfigError(f"{REFIT_FILE}: fits share a lifetime: give it, or leave fits out.")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the folder's refit.toml.

        Raises:
            ConfigError: There is none, or it has something else than these settings.
        """
        path = folder / REFIT_FILE
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise ConfigError(
                f"{path}: is missing. It says how the folder's model is fitted;  tacit init  "
                "writes one."
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: is not TOML ({error}).") from None
        unknown = sorted(set(content) - {one.name for one in fields(cls)})
        if unknown:
            raise ConfigError(f"{path}: has no setting '{unknown[0]}'.")
        if "features" in content:
            content["features"] = tuple(content["features"])
        return cls(**content)

    def write(self, folder: Path) -> None:
        """Write refit.toml; settings that are None are left out."""
        lines = [
            "# How  tacit refit  fits the model of this folder. Each fit spends of the lifetime."
        ]
        values = asdict(self)
        rows = values.pop("rows")
        lines += [f"{name} = {_to_toml(value)}" for name, value in _list_given(values)]
        lines += ["", "[rows]  # how the ratings are read"]
        lines += [f"{name} = {_to_toml(value)}" for name, value in _list_given(rows)]
        write_whole(folder / REFIT_FILE, ("\n".join(lines) + "\n").encode())


@dataclass(frozen=True)
class FolderFit:
    """Result of one fit of a folder."""

    model: Private
    """The new model."""
    replaced: bool
    """Whether it is served from now on."""
    reason: str
    """Why it is not served; empty if it is."""
    digest: str
    """SHA-256 of the model file that is served now."""
    previous_digest: str | None
    """SHA-256 of the one before; None where there was none."""


def fit_next(
    folder: Path, settings: RefitSettings, tenant: str, ratings: RatingsSource
) -> FolderFit:
    """Make the first fit of a folder or the next one, and serve it if it is not worse.

    Args:
        folder: The service's folder.
        settings: How the fit is made.
        tenant: Whose budget pays.
        ratings: All ratings until now.

    Raises:
        DataError, ConfigError: The ratings or settings cannot be used.
        PrivacyError: The lifetime of all fits would be passed; nothing was drawn.
    """
    newest = folder / NEWEST
    is_first = not newest.is_file()
    model = Private(
        settings.epsilon,
        settings.delta,
        features=settings.features,
        previous=None if is_first else newest,
        lifetime=settings.lifetime,
        fits=settings.fits if is_first else None,
    )
    if settings.lifetime is None:
        model.fit(ratings)
    else:
        with open_ledger(str(folder / FITS_LEDGER)) as ledger:
            model.fit(ratings, account=Account(ledger, tenant, DATASET))
    model.save(newest)
    served = folder / settings.model
    before = served.read_bytes() if served.is_file() else None
    reason = "" if before is None else describe_loss(load_model(served), model)
    if not reason:
        write_whole(served, newest.read_bytes())
    return FolderFit(
        model=model,
        replaced=not reason,
        reason=reason,
        digest=hashlib.sha256(served.read_bytes()).hexdigest(),
        previous_digest=None if before is None else hashlib.sha256(before).hexdigest(),
    )


def describe_loss(served: Private, new: Private) -> str:
    """Say in which released value a new model is worse; empty if in none."""
    if served.released_.serves_lists and not new.released_.serves_lists:
        return "its lists are those of popularity, and the served model makes personal ones"
    before = served.released_.usefulness.effective
    after = new.released_.usefulness.effective
    if before is not None and after is not None and after < LEAST_SHARE * before:
        return (
            f"its effective population is {after:,.0f}, below half of the served model's "
            f"{before:,.0f}"
        )
    return ""


def _list_given(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in values.items() if value is not None]


def _to_toml(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    if isinstance(value, Path):
        return json.dumps(str(value))
    return json.dumps(value, ensure_ascii=False)
