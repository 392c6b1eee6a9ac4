"""Regular fits of a service's folder, as `tacit refit` makes them.

The folder has these files:

    refit.toml     how each fit is made; written by  tacit init  and edited by the folder's owner
    newest.tacit   the model of the latest fit, which the next fit follows
    fits.db        the ledger that pays for the fits, if refit.toml has a lifetime
    lists.tacit    the model that is served
    refit.lock     locked while a fit is made, so that two processes do not follow the same fit

Every fit is counted: the next one follows the model that lists all earlier fits. The ledger may
list one fit that this model does not list, because its process was stopped: then the model that the
ledger stored is used. If there are more such fits, the next fit is refused.

A new model that is worse than the served one, judged by released values alone, is not served. It is
stored as the newest one nevertheless, because it was paid for and counts. The two models are not
compared on people's ratings, because the result would be a further release.
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
"""Name of the data set in the folder's ledger."""
LEAST_SHARE = 0.5
"""A new model is worse if its effective population is below this share of the served one's. The
message of `describe_why_worse` says "half"."""

Every = Literal["day", "week", "month"]
FITS_A_YEAR: Mapping[str, int] = {"day": 365, "week": 52, "month": 12}
"""Number of fits in a year, by the value of `RefitSettings.every`."""


@dataclass(frozen=True, kw_only=True)
class RefitSettings:
    """The settings in refit.toml.

    Raises:
        ConfigError: A setting has a value of another type than it needs, or one that is not
            allowed.
    """

    model: str = "lists.tacit"
    """Name of the file, in the folder, of the served model."""
    epsilon: float = DEFAULT_EPSILON
    """Epsilon of one fit; a plan does not use it."""
    delta: float = DEFAULT_DELTA
    """Probability by which any event may exceed the bounds of `epsilon` and `lifetime`."""
    lifetime: float | None = None
    """Largest epsilon of all fits together; None: that of the newest model, and no limit if it has
    none. Only a lifetime in refit.toml is charged to the ledger."""
    fits: int | None = None
    """Number of fits of the plan that shares the lifetime; None: the plan of the newest model is
    continued, and without one each fit costs `epsilon`."""
    every: Every = "week"
    """How often a new fit is due."""
    catalogue: str | None = None
    """Path of the public list of items; None: the items are those that were rated."""
    features: tuple[str, ...] | None = None
    """Columns of the catalogue that tastes are made of; None: the default of `Private`."""
    rows: Mapping[str, Any] = field(default_factory=dict)
    """Options of  tacit init  that say how the ratings are read, by name."""

    def __post_init__(self) -> None:
        """Check all settings, as the class says."""
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
        """Raise ConfigError if a setting has a value of a type that it cannot have."""
        # For each setting: what its value has to be, in words, and the types that it may have.
        allowed: Mapping[str, tuple[str, tuple[type, ...]]] = {
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
        for name, (description, types) in allowed.items():
            # In Python a bool is also an int, but no setting is one.
            if isinstance(values[name], bool) or not isinstance(values[name], types):
                raise ConfigError(
                    f"{REFIT_FILE}: {name} has to be {description}; got {values[name]!r}."
                )
        if not all(isinstance(column, str) for column in self.features or ()):
            raise ConfigError(
                f"{REFIT_FILE}: features has to be a list of texts; got {self.features!r}."
            )

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the folder's refit.toml.

        Raises:
            ConfigError: There is no refit.toml, it is no TOML, or its settings cannot be used.
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
        unknown = sorted(set(content) - {setting.name for setting in fields(cls)})
        if unknown:
            raise ConfigError(f"{path}: has no setting '{unknown[0]}'.")
        if isinstance(content.get("features"), list):
            content["features"] = tuple(content["features"])
        return cls(**content)

    def write(self, folder: Path) -> None:
        """Write the folder's refit.toml, without the settings that are None."""
        lines = [
            "# How  tacit refit  fits this folder's model.",
            "# If a lifetime is set, each fit spends a part of it.",
        ]
        values = asdict(self)
        rows = values.pop("rows")
        lines += _toml_lines(values)
        lines += ["", "[rows]  # how the ratings are read"]
        lines += _toml_lines(rows)
        write_whole(folder / REFIT_FILE, ("\n".join(lines) + "\n").encode())


@dataclass(frozen=True)
class FolderFit:
    """Result of one fit of a folder."""

    model: Private
    """The new model."""
    replaced: bool
    """Whether the new model is served now."""
    reason: str
    """Why the new model is not served; empty if it is."""
    digest: str
    """SHA-256, in hex, of the model file that is served after the fit."""
    previous_digest: str | None
    """SHA-256, in hex, of the model file that was served before the fit; None if none was."""


def fit_next(
    folder: Path, settings: RefitSettings, tenant: str, ratings: RatingsSource
) -> FolderFit:
    """Make the first or the next fit of a folder, and serve its model unless it is worse.

    Args:
        folder: The service's folder.
        settings: How the fit is made.
        tenant: Name of the tenant whose budget in the ledger pays; not used without a lifetime.
        ratings: All ratings so far.

    Raises:
        DataError, ConfigError, ModelFileError: The ratings, settings or models cannot be used.
        PrivacyError: The fit would exceed the lifetime, or the ledger lists fits that no model of
            the folder lists; nothing was drawn. Or the fit failed after it was charged.
    """
    newest_file = folder / NEWEST
    served_file = folder / settings.model
    with _lock_folder(folder):
        # A served model that cannot be read raises here, before anything is charged.
        served_model = _read_model(served_file)
        previous = choose_newest(_read_model(newest_file), served_model)
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
                _check_charged_fits(account, previous)
                model.fit(ratings, account=account)
        model.save(newest_file)
        previous_digest, reason = None, ""
        if served_model is not None:
            previous_digest = _file_digest(served_file)
            reason = describe_why_worse(served_model, model)
        if not reason:
            write_whole(served_file, newest_file.read_bytes())
        return FolderFit(
            model=model,
            replaced=not reason,
            reason=reason,
            digest=_file_digest(served_file),
            previous_digest=previous_digest,
        )


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def choose_newest(stored: Private | None, served: Private | None) -> Private | None:
    """Return the one of two models that lists all fits of both; None if there is neither.

    The stored model normally lists them all, but an older copy of it may have been restored.

    Args:
        stored: The model in newest.tacit; None if there is no such file.
        served: The served model; None if there is no such file.

    Raises:
        ConfigError: Each model lists a fit that the other one does not list.
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
    """Lock the folder during a `with` block.

    Raises:
        ConfigError: Another process has locked it.
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
    """Read a model of private lists; return None if there is no file.

    Raises:
        ConfigError: The model is of another design.
        ModelFileError: The file is damaged.
    """
    if not path.is_file():
        return None
    model = load_model(path)
    if not isinstance(model, Private):
        raise ConfigError(f"{path}: is a model of another design. Nothing was drawn or spent.")
    return model


def _check_charged_fits(account: Account, previous: Private | None) -> None:
    """Check that the ledger lists at most one fit after the last one of the folder's newest model.

    One is allowed: its process was stopped between the charge and the writing of the model. The
    ledger then returns that fit's stored model, without new noise.

    Args:
        account: The budget that pays for the folder's fits.
        previous: The folder's newest model; None before the first fit.

    Raises:
        PrivacyError: The ledger lists more such fits, without the failed ones.
    """
    unlisted_fits = account.count_newer(() if previous is None else previous.releases_)
    if unlisted_fits > 1:
        raise PrivacyError(
            f"{FITS_LEDGER} lists {unlisted_fits} fits that no model of the folder knows: an older "
            f"copy of {NEWEST} was restored, or it was removed. The card of the next fit would "
            f"state less than was spent. Bring back the newest {NEWEST}. Nothing was drawn or "
            "spent."
        )


def describe_why_worse(served: Private, new: Private) -> str:
    """Say why a new model is worse than the served one; return "" if it is not.

    It is worse if it makes only lists of popular items and the served model makes personal lists,
    or if its effective population is below `LEAST_SHARE` of the served model's. These are released
    values. Effective populations are not compared if a model was fitted without noise.
    """
    if served.released_.serves_personal_lists and not new.released_.serves_personal_lists:
        return "its lists are those of popularity, and the served model makes personal ones"
    served_population = served.released_.usefulness.effective_population
    new_population = new.released_.usefulness.effective_population
    if served_population is None or new_population is None:  # one of them is without noise
        return ""
    if new_population < LEAST_SHARE * served_population:
        return (
            f"its effective population is {new_population:,.0f}, below half of the served model's "
            f"{served_population:,.0f}"
        )
    return ""


def _toml_lines(values: Mapping[str, Any]) -> list[str]:
    """Return a line of TOML for each value that is not None."""
    lines = []
    for name, value in values.items():
        if value is not None:
            lines.append(f"{name} = {_to_toml(value)}")
    return lines


def _to_toml(value: Any) -> str:
    """Write a text, number, bool, path, or a list of these as a value of TOML."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    if isinstance(value, Path):
        return _to_toml(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # inf, -inf and nan, as TOML writes them
    # A JSON text is a TOML text, except that TOML wants the delete character escaped, too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
