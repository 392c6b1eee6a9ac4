"""One tree of errors. Each message says what, where, what was expected and what to do.

An error message is a release too: it never holds a rating that is not already in the caller's own
input, nor another person's id, count or remaining budget.
"""

from __future__ import annotations

from typing import Any


class TacitError(Exception):
    """Base of every error tacit raises on purpose; the command line prints it without traceback."""

    exit_code = 1


class ConfigError(TacitError):
    """A parameter or a combination of parameters makes no sense."""

    exit_code = 2


class DataError(TacitError):
    """Input data is malformed. Nothing was loaded."""

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        path: object = None,
        row: int | None = None,
        column: str | None = None,
        found: object = None,
        expected: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what, self.path, self.row, self.column = what, path, row, column
        self.found, self.expected, self.fix = found, expected, fix
        named = {"": path, "row ": row, "column ": None if column is None else f"'{column}'"}
        where = ", ".join(f"{name}{place}" for name, place in named.items() if place is not None)
        sentence = f"{where}: {what}" if where else what
        if found is not None:
            sentence += f"; found {_shorten(found)}"
        if expected is not None:
            sentence += f"; expected {expected}"
        super().__init__(f"{sentence}." if fix is None else f"{sentence}. {fix}")

    def placed(self, **place: Any) -> DataError:
        """The same complaint about another place: path, row or column."""
        names = ("path", "row", "column", "found", "expected", "fix")
        return DataError(self.what, **{name: getattr(self, name) for name in names} | place)


class OutputError(TacitError):
    """A file cannot be written where it was asked for. What was there is untouched."""


class ModelFileError(TacitError):
    """A model file is not what it says it is: refused before anything is used from it."""

    exit_code = 4


class PrivacyError(TacitError):
    """Doing this would break a stated guarantee, so it is refused."""

    exit_code = 5


class NotFittedError(TacitError):
    """The recommender has to be fitted first."""

    exit_code = 2


class ClusterError(TacitError):
    """A cluster does not answer, cannot do what is asked, or answered what cannot be used."""


class MissingExtra(TacitError):
    """An optional dependency is not installed."""

    exit_code = 6

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"This needs '{package}': run  pip install 'tacit-rec[{extra}]'  (in the folder of the "
            f"source:  pip install '.[{extra}]')."
        )


class DownloadError(TacitError):
    """A public data set could not be fetched, or what came is not what was published."""

    exit_code = 7


def _shorten(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
