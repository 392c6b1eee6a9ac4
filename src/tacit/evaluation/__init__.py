"""What a command found, for programs and people, how sure it is, and how to make it again."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from tacit.errors import ConfigError, DataError
from tacit.views import table as view

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tacit.data.ratings import Ratings

T = TypeVar("T")
K = TypeVar("K")

OUT = "Model file to write."
SEED = "The same seed gives the same splits, people and draws."
WORKERS = "Processes; 0 for all cores."
REPORT = "Write one self-contained page here."
"""Help of the options that fits and experiments have."""
LEAST_SEEDS = 6
"""Seeds to ask for where an interval is to say much."""
ANYWHERE = (-math.inf, math.inf)
PACKAGES = ("tacit-rec", "numpy", "scipy", "scikit-learn", "numba", "polars", "opendp")


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies inside, ends included."""
        return self.low <= value <= self.high


def mean_interval(
    values: ArrayLike, confidence: float = 0.95, *, bounds: tuple[float, float] = ANYWHERE
) -> Interval:
    """Student's t interval of the mean of one figure per fold, cut to `bounds`.

    Of one fold it is the whole of `bounds`. Folds share training people, so their figures are not
    quite independent and the interval is somewhat narrow (Bengio and Grandvalet, 2004).
    DataError without a finite figure inside the bounds for each fold.
    """
    import numpy as np
    from scipy.stats import t as student  # takes long to import; a command may never come here

    figures = np.asarray(values, dtype=np.float64).ravel()
    if figures.size == 0 or not np.isfinite(figures).all():
        raise DataError("a fold's figure is not a finite number", expected="one per fold")
    if not 0 < confidence < 1:
        raise ConfigError(f"A confidence lies between 0 and 1, for example 0.95; got {confidence}.")
    low, high = bounds
    if figures.min() < low or figures.max() > high:
        raise DataError("a fold's figure lies out of bounds", expected=f"{low:g} to {high:g}")
    mean = float(np.clip(figures.mean(), figures.min(), figures.max()))  # rounding of equal figures
    if figures.size == 1:
        return Interval(mean, low, high)
    variance = float(np.sum((figures - mean) ** 2)) / (figures.size - 1)
    error = math.sqrt(variance / figures.size)
    half = float(student.ppf((1 + confidence) / 2, figures.size - 1)) * error
    return Interval(mean, max(low, mean - half), min(high, mean + half))


def auc_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """`mean_interval` of one AUC per fold, kept within 0 and 1."""
    return mean_interval(values, confidence, bounds=(0.0, 1.0))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Rows that share a key, such as those of all seeds of one setting, in their order."""
    groups: dict[K, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


@dataclass(frozen=True)
class Table:
    """A table of `shown`; None is an empty cell, floats have three decimals unless formatted.

    heads: of a page, names above so many columns each, "" for none.
    """

    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    heads: Sequence[tuple[str, int]] = ()

    @classmethod
    def of(
        cls, title: str, columns: Mapping[str, Callable[[Any], object]], rows: Iterable[Any]
    ) -> Table:
        """columns: headings with what stands below them, of each row."""
        cells = [[cell(row) for cell in columns.values()] for row in rows]
        return cls(title, tuple(columns), cells)


@dataclass(frozen=True)
class Result:
    """data: what `--json` prints; without it, its `warnings` stand on stderr. shown: what a person
    reads. after: the command to type next, and what it does. failed: whether the exit code is 1.

    `rows` are those of `data`; an interval is three columns of them: NAME, NAME_low, NAME_high.
    """

    data: Mapping[str, Any]
    shown: Sequence[Table | str] = ()
    after: str = ""
    failed: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One flat mapping a row, all with the same columns."""
        flat = [_flat(row) for row in self.data.get("rows", ())]
        columns = dict.fromkeys(name for row in flat for name in row)
        return [{name: row.get(name) for name in columns} for row in flat]

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return self._frame("polars")

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame; ConfigError where pandas is not installed."""
        return self._frame("pandas")

    def to_csv(self) -> str:
        """The rows, with a header."""
        return str(self.to_polars().write_csv())

    def to_latex(self) -> str:
        """The rows as a tabular environment, floats with three decimals."""
        rows = [self._columns, *(row.values() for row in self.rows)]
        head, *lines = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        begin = rf"\begin{{tabular}}{{{'l' * len(self._columns)}}}"
        return "\n".join([begin, head, r"\hline", *lines, r"\end{tabular}"]) + "\n"

    def _repr_html_(self) -> str:
        return view("", self._columns, (row.values() for row in self.rows))

    def __repr__(self) -> str:
        return f"Result({len(self.rows)} rows of {', '.join(self._columns) or 'no columns'})"

    def _frame(self, backend: Literal["pandas", "polars"]) -> Any:
        from tacit.data.tabular import to_frame

        rows = self.rows
        return to_frame({name: [row[name] for row in rows] for name in self._columns}, backend)

    @property
    def _columns(self) -> list[str]:
        return list(self.rows[0]) if self.rows else []


def _flat(row: Any) -> dict[str, Any]:
    named = is_dataclass(row) and not isinstance(row, type)
    given = {field.name: getattr(row, field.name) for field in fields(row)} if named else row
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Interval):
            flat |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            flat[name] = value
    return flat


def _latex(cell: object) -> str:
    text = "" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return text.replace("_", r"\_").replace("%", r"\%")


@dataclass(frozen=True)
class Verdict:
    """What a page says first. state: a word of the design, for its colour."""

    state: str
    headline: str
    sentence: str


def manifest(ratings: Ratings, *, seed: int, command: str, **settings: Any) -> dict[str, Any]:
    """Seed, versions, hash and size of the data, command, settings and date."""
    data = {
        "sha256": ratings.digest,
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "scale": str(ratings.scale),
    }
    return {"seed": seed} | made_with(command, settings) | {"data": data}


def made_with(
    command: str, settings: Mapping[str, Any], packages: Sequence[str] = PACKAGES
) -> dict[str, Any]:
    """The same without seed and data. packages: those whose versions count."""
    return {
        "command": command,
        "settings": dict(settings),
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in packages},
        "platform": f"{sys.platform} {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
