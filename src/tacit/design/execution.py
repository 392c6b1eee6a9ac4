"""Options of commands that can also read ratings from disk, or compute sums on a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.design.options import option
from tacit.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions:
    """Options that say where sums are computed: in memory, streamed from disk, or on a cluster.

    The settings of a command that has these options inherit from this class.

    Raises:
        ConfigError: The engine is unknown, or the options do not fit together.
    """

    engine: str = option("Where sums are made: 'local', or 'spark' with --remote.", default="local")
    remote: str | None = option(
        "Spark Connect server, sc://HOST:PORT. RATINGS: a path or table it sees.", default=None
    )
    memory: str | None = option("Stream Parquet in this much memory, such as 4GiB.", default=None)
    tasks: int | None = option(
        "Tasks on a cluster; default: one for 2 million ratings.", default=None, least=1
    )

    def __post_init__(self) -> None:
        """Raise ConfigError for an unknown engine, or for options that do not fit together."""
        if self.engine not in ("local", "spark"):
            raise ConfigError(f"--engine is 'local' or 'spark'; got {self.engine!r}.")
        if (self.engine == "spark") != (self.remote is not None):
            raise ConfigError("--engine spark and --remote sc://HOST:PORT go together.")
        if self.engine == "spark" and self.memory is not None:
            raise ConfigError(
                "--memory limits this machine, not a cluster: set the memory of its workers there."
            )
        if self.engine == "local" and self.tasks is not None:
            raise ConfigError("--tasks is for --engine spark.")

    @property
    def in_memory(self) -> bool:
        """Whether all ratings are read into memory."""
        return self.engine == "local" and self.memory is None
