"""Commands of designs: their settings are options, their functions return results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tacit.design.execution import ExecutionOptions

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.stored_ratings import StoredRatings
    from tacit.evaluation import Result


class Run(Protocol):
    """One run of a command: the line that was typed, the file of ratings, the progress shown."""

    command: str
    """The line that was typed."""
    per_item: int
    """Value of --per-item; 1 where it was left out."""
    per_user: int
    """Value of --per-user; 1 where it was left out."""

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory.

        Args:
            catalogue: File of the only items that count.
            domains: Whether the catalogue must have their domains.

        Raises:
            DataError: A row cannot be read; with its file, row and column.
        """

    def open(
        self, execution: ExecutionOptions, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        """Open the ratings in memory, on disk or on a cluster, as the options say.

        Args:
            execution: Options that say where.
            catalogue: File of the only items that count.
            domains: Whether the catalogue must have their domains.

        Raises:
            DataError: A row cannot be read; with its file, row and column.
        """

    def progress(
        self, description: str, total: int | None
    ) -> AbstractContextManager[Callable[[float], None]]:
        """Show a bar; call what it yields with the number of steps done, or a part of one."""


@dataclass(frozen=True)
class Command:
    """A command of a design, such as `tacit simulate NAME`."""

    settings: type[Any]
    """Frozen dataclass whose fields are made with `option`; they are the command's options."""
    run: Callable[[Any, Run], Result]
    """Function of the settings and the run. Its docstring is the command's help."""
    ratings: bool = False
    """Whether the command reads a file of ratings."""
