"""Errors of tacit, all below `TacitError`.

A message says what is wrong and where, and if possible what to do.

An error message is a release too: it never holds a rating that is not already in the caller's own
input, nor another person's id, count or remaining budget.
"""

from __future__ import annotations


class TacitError(Exception):
    """Base of the errors that tacit raises on purpose; the command line shows no traceback."""

    exit_code = 1
    """Exit code of the command line."""

    def details(self) -> dict[str, object]:
        """Return the facts of the message by name, for machine-readable output."""
        return {}


class ConfigError(TacitError):
    """A parameter or a combination of parameters makes no sense."""

    exit_code = 2


class DataError(TacitError):
    """Input data is malformed, and was not used."""

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
        """Compose the message; parts that are None are left out.

        Args:
            what: What is wrong, without a place and without a full stop.
            path: The file.
            row: Number of the row. Whether a file's heading counts as row 1 depends on its format.
            column: Name of the column.
            found: The wrong value. It is shown in the message: pass only a value that the caller
                supplied, never another person's data.
            expected: Description of a valid value.
            fix: What the user can do, as a sentence with a full stop.
        """
        self.what = what
        self.path = path
        self.row = row
        self.column = column
        self.found = found
        self.expected = expected
        self.fix = fix
        sentence = what
        places = []
        if path is not None:
            places.append(f"{path}")
        if row is not None:
            places.append(f"row {row}")
        if column is not None:
            places.append(f"column '{column}'")
        if places:
            sentence = f"{', '.join(places)}: {what}"
        if found is not None:
            sentence += f"; found {_shorten_repr(found)}"
        if expected is not None:
            sentence += f"; expected {expected}"
        super().__init__(f"{sentence}." if fix is None else f"{sentence}. {fix}")

    def with_place(
        self,
        *,
        path: object = None,
        row: int | None = None,
        column: str | None = None,
        expected: str | None = None,
    ) -> DataError:
        """Return a copy with another path, row, column or expectation; None keeps the old one."""
        return DataError(
            self.what,
            path=self.path if path is None else path,
            row=self.row if row is None else row,
            column=self.column if column is None else column,
            found=self.found,
            expected=self.expected if expected is None else expected,
            fix=self.fix,
        )

    def details(self) -> dict[str, object]:
        """Return the parts of the message."""
        return {
            "what": self.what,
            "path": self.path,
            "row": self.row,
            "column": self.column,
            "found": self.found,
            "expected": self.expected,
            "fix": self.fix,
        }


class OutputError(TacitError):
    """A file cannot be written at the given path. A file that is there is untouched."""


class ModelFileError(TacitError):
    """A model file cannot be read or made, is damaged, or is not a model file.

    Nothing in it was used.
    """

    exit_code = 4


class PrivacyError(TacitError):
    """Doing this would break a stated guarantee, so it is refused."""

    exit_code = 5


class NotFittedError(TacitError):
    """A recommender or an attack has to be fitted first."""

    exit_code = 2


class ClusterError(TacitError):
    """A cluster does not answer, cannot do the work, or sent an answer that cannot be used."""


class MissingExtra(TacitError):
    """An optional dependency is not installed."""

    exit_code = 6

    def __init__(self, package: str, extra: str) -> None:
        """Compose the message from the missing package and the extra of tacit that installs it."""
        self.package = package
        self.extra = extra
        super().__init__(
            f"This needs '{package}': run  pip install 'tacit-rec[{extra}]'  (in the folder of the "
            f"source:  pip install '.[{extra}]')."
        )

    def details(self) -> dict[str, object]:
        """Return the package and the extra."""
        return {"package": self.package, "extra": self.extra}


class DownloadError(TacitError):
    """A public data set could not be fetched, or its bytes are not those that were published."""

    exit_code = 7


def _shorten_repr(value: object, limit: int = 60) -> str:
    """Return the value's repr, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


UNUSABLE_CONTENT = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    TacitError,
)
"""Errors that code may raise while it reads a file whose values tacit did not write."""
