"""How a service runs: files and limits. What it serves stands in its folder's tacit.toml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.errors import ConfigError


@dataclass(frozen=True)
class Settings:
    """Everything that is the operator's to choose.

    folder: holds tacit.toml, and by default the keys, the secret and the ledger.
    database: a file, or postgresql://HOST/DATABASE; by default `budgets.db` in the folder.
    second: the second place of the ledger's head; needed for PostgreSQL.
    visitors: whether anybody may ask for a person's key (a demonstration), or the operator alone.
    most_body: bytes of one request. per_second, burst: requests of one key or one address.
    answer_within: seconds after which an answer is given up with 503.
    """

    folder: Path
    database: str | None = None
    second: Path | None = None
    visitors: bool = False
    most_body: int = 64 * 1024
    per_second: float = 100.0
    burst: int = 200
    answer_within: float = 1.8
    threads: int = 64

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: is no folder. `tacit serve --demo` needs none.")
        for name in ("most_body", "per_second", "burst", "answer_within", "threads"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"The setting {name} is above 0.")

    @property
    def ledger(self) -> str:
        """Where the ledger is."""
        return self.database or str(self.folder / "budgets.db")

    @property
    def keys(self) -> Path:
        """The file of staff's and vendors' keys."""
        return self.folder / "keys.json"

    @property
    def secret(self) -> Path:
        """The service's own secret: people's keys hang on it. All workers share it."""
        return self.folder / "service.secret"
