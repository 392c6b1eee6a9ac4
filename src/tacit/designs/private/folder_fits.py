"""Fits of a service's folder, one after the other: its settings, its budget, its model file.

    refit.toml     how each fit is made, written by  tacit init  and edited by its owner
    newest.tacit   the latest fit, which the next one follows
    fits.db        the ledger that pays for all fits, where they have a lifetime
    lists.tacit    the model that is served
    refit.lock     held while a fit is made, so that two at once do not follow the same one

No fit that this folder knows of is forgotten: the next one follows the model that lists all of
them, and is refused where the ledger lists more.

A fit that is worse than the served model by released values is stored as the newest one, since it
is charged, and does not replace what is served. Ratings of people are not asked which of two models
they like better: that would be a release of its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, get_args

from tacit.atomic_writes import write_whole
from tacit.data.stored_ratings import RatingsSource
from tacit.designs.private.model import Private
from tacit.designs.private.refits import Account
from tacit.errors import ConfigError, PrivacyError
from tacit.ledger import open_ledger
from tacit.profile_sums.settings import DEFAULT_DELTA, DEFAULT_EPSILON
from tacit.recommenders.model_files import load_model

REFIT_FILE = "refit.toml"
NEWEST = "newest.tacit"
FITS_LEDGER = "fits.db"
LOCK = "refit.lock"
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
        self._check_types()
        if self.every not in get_args(Every):
            raise ConfigError(f"{REFIT_FILE}: every is day, week or month; got {self.every!r}.")
        if self.fits is not None and self.lifetime is None:
            raise ConfigError(f"{REFIT_FILE}: fits share a lifetime: give it, or leave fits out.")
        if Path(self.model).suffix != ".tacit" or Path(self.model).name == NEWEST:
            raise ConfigError(
                f"{REFIT_FILE}: model is the served file, NAME.tacit and not {NEWEST}; "
                f"got {self.model!r}."
            )

    def _check_types(self) -> None:
        """Raise ConfigError for a value of another type than its setting has."""
        kinds: Mapping[str, tuple[str, tuple[type, ...]]] = {
            "model": ("a text", (str,)),
            "epsilon": ("a number", (int, float)),
            "delta": ("a number", (int, float)),
            "lifetime": ("a number", (int, float, NoneType)),
            "fits": ("a whole number", (int, NoneType)),
            "catalogue": ("a text", (str, NoneType)),
            "features": ("a list of texts", (tuple, NoneType)),
            "rows": ("a table", (dict,)),
        }
        values = asdict(self)
        for name, (kind, types) in kinds.items():
            if isinstance(values[name], bool) or not isinstance(values[name], types):
                raise ConfigError(f"{REFIT_FILE}: {name} is {kind}; got {values[name]!r}.")
        if not all(isinstance(column, str) for column in self.features or ()):
            raise ConfigError(f"{REFIT_FILE}: features is a list of texts.")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the folder's refit.toml.

        Raises:
            ConfigError: There is no refit.toml, or it holds something else than these settings.
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
        if isinstance(content.get("features"), list):
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
        DataError, ConfigError, ModelFileError: The ratings, settings or models cannot be used.
        PrivacyError: The lifetime of all fits would be passed, or the ledger lists fits that no
            model of the folder knows; nothing was drawn.
    """
    newest = folder / NEWEST
    served = folder / settings.model
    with _lock_folder(folder):
        served_model = _read_model(served)  # before anything is charged
        previous = choose_newest(_read_model(newest), served_model)
        model = Private(
            settings.epsilon,
            settings.delta,
            features=settings.features,
            previous=previous,
            lifetime=settings.lifetime,
            fits=settings.fits,
        )
        if settings.lifetime is None:
            model.fit(ratings)
        else:
            with open_ledger(str(folder / FITS_LEDGER)) as ledger:
                account = Account(ledger, tenant, DATASET)
                _check_known(account, previous)
                model.fit(ratings, account=account)
        model.save(newest)
        before = served.read_bytes() if served_model is not None else None
        reason = "" if served_model is None else describe_loss(served_model, model)
        if not reason:
            write_whole(served, newest.read_bytes())
        return FolderFit(
            model=model,
            replaced=not reason,
            reason=reason,
            digest=hashlib.sha256(served.read_bytes()).hexdigest(),
            previous_digest=None if before is None else hashlib.sha256(before).hexdigest(),
        )


def choose_newest(stored: Private | None, served: Private | None) -> Private | None:
    """Choose the model that lists all fits of both: an older copy may have been restored.

    Raises:
        ConfigError: Each lists a fit that the other one does not.
    """
    if stored is None or served is None:
        return served if stored is None else stored
    if set(served.releases_) <= set(stored.releases_):
        return stored
    if set(stored.releases_) <= set(served.releases_):
        return served
    raise ConfigError(
        f"{NEWEST} and the served model are of different chains of fits: neither lists all that "
        "was released. Bring back the two files that belong together. Nothing was drawn or spent."
    )


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock.

    Raises:
        ConfigError: Another process holds it.
    """
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"{folder}: another fit of this folder is being made. Wait until it has ended. "
                "Nothing was drawn or spent."
            ) from None
        yield


def _read_model(path: Path) -> Private | None:
    """Read a model of private lists; None where there is no file.

    Raises:
        ConfigError: It is of another design.
        ModelFileError: It is damaged.
    """
    if not path.is_file():
        return None
    model = load_model(path)
    if not isinstance(model, Private):
        raise ConfigError(f"{path}: is a model of another design. Nothing was drawn or spent.")
    return model


def _check_known(account: Account, previous: Private | None) -> None:
    """Check that the folder's newest model knows what was charged.

    One more fit may stand in the ledger: a process that was stopped before it wrote its model. That
    one is handed out again, without new noise.

    Raises:
        PrivacyError: There are more.
    """
    unknown = account.count_newer(() if previous is None else previous.releases_)
    if unknown > 1:
        raise PrivacyError(
            f"{FITS_LEDGER} lists {unknown} fits that no model of the folder knows: an older copy "
            f"of {NEWEST} was restored, or it was removed. Its card would state less than was "
            f"spent. Bring back the newest {NEWEST}. Nothing was drawn or spent."
        )


def describe_loss(served: Private, new: Private) -> str:
    """Say in which released value a new model is worse; empty if in none."""
    if served.released_.serves_lists and not new.released_.serves_lists:
        return "its lists are those of popularity, and the served model makes personal ones"
    before = served.released_.usefulness.effective_population
    after = new.released_.usefulness.effective_population
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
        return _to_toml(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # inf, -inf and nan, as TOML writes them
    # TOML reads JSON's texts, but has the delete character escaped, too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
