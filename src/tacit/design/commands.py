"""Commands of designs: each has settings, whose fields are options, and returns a result."""

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
    """One run of a command, which reads its ratings and shows its progress."""

    command: str
    """The command line that was typed."""
    per_item: int
    """Value of --per-item, the fewest ratings of an item that is kept; 1 if it was not given."""
    per_user: int
    """Value of --per-user, the fewest ratings of a person who is kept; 1 if it was not given."""

    def read_ratings(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """Read the ratings into memory, without people and items that have too few ratings.

        Args:
            catalogue: File of items; ratings of all others are left out. None: all items.
            domains: Whether the catalogue must name the domain of each item.

        Raises:
            DataError: A file or a row cannot be read, or no rating is left.
            ConfigError: Options contradict each other or the file.
        """

    def open_ratings(
        self, execution: ExecutionOptions, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        """Open the ratings in memory, on disk or on a cluster, as the options say.

        Args:
            execution: Options that say which of these it is.
            catalogue: As in `read_ratings`.
            domains: As in `read_ratings`.

        Raises:
            DataError: A file or a row cannot be read.
        """

    def progress(
        self, description: str, total: int | None
    ) -> AbstractContextManager[Callable[[float], None]]:
        """Show progress while a `with` block runs.

        Args:
            description: Words before the bar.
            total: Number of steps; None if it is not known.

        Returns:
            A context manager that yields a function, to be called with the number of steps done
            since its last call.
        """


@dataclass(frozen=True)
class Command:
    """A command of a design, such as `tacit simulate NAME`."""

    settings: type[Any]
    """Frozen dataclass whose fields are made with `option`; they are the command's options."""
    run: Callable[[Any, Run], Result]
    """Runs the command with its settings. Its docstring is the command's help."""
    ratings: bool = False
    """Whether the command reads a file of ratings."""
