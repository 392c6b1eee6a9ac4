"""One tree of errors. Each message says what, where, what was expected and what to do.

An error message is a release too: it never holds a rating that is not already in the caller's own
input, nor another person's id, count or remaining budget.
"""

from __future__ import annotations


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
        self.what = what
        self.path = path
        self.row = row
        self.column = column
        self.found = found
        self.expected = expected
        self.fix = fix
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = ", ".join(
            part
            for part in (
                f"{self.path}" if self.path is not None else "",
                f"row {self.row}" if self.row is not None else "",
                f"column '{self.column}'" if self.column is not None else "",
            )
            if part
        )
        sentence = f"{where}: {self.what}" if where else self.what
        if self.found is not None:
            sentence += f"; found {_shorten(self.found)}"
        if self.expected is not None:
            sentence += f"; expected {self.expected}"
        sentence += "."
        if self.fix is not None:
            sentence += f" {self.fix}"
        return sentence


class OutputError(TacitError):
    """A file cannot be written where it was asked for. What was there is untouched."""

    exit_code = 1


class ModelFileError(TacitError):
    """A model file is not what it says it is: refused before anything is used from it."""

    exit_code = 4


class PrivacyError(TacitError):
    """Doing this would break a stated guarantee, so it is refused."""

    exit_code = 5


class NotFittedError(TacitError):
    """The recommender has to be fitted first."""

    exit_code = 2


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
