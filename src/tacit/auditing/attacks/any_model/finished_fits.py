"""A file with the findings of finished fits, so that an attack that was stopped can be resumed.

The file holds how strongly each attacked person's hidden items are favoured: it is as secret as the
attack's other findings, and only its owner can read a new file. Each line is a JSON object or
empty; a line that was cut off is ignored.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from tacit.atomic_writes import append_secret
from tacit.errors import ConfigError

_BEGINS = '{"fit": "'
"""First characters of every line that is not empty."""


class FinishedFits:
    """Findings of finished fits, by the name of the fit.

    Args:
        path: File to read and to add to, which need not exist; None: nothing is kept.
        identity: Text that names all that the findings depend on, apart from the fit's name: model,
            ratings and settings.

    Raises:
        ConfigError: The file is of another kind.
    """

    def __init__(self, path: Path | None = None, identity: str = "") -> None:
        self._path = path
        self._identity = identity
        self._known = {} if path is None else _read(path)

    def find(self, fit: str) -> list[list[float]] | None:
        """Return the findings of a fit; None if the file had none when it was read."""
        return self._known.get(self._key(fit))

    def add(self, fit: str, findings: list[list[float]]) -> None:
        """Add the findings of a fit to the file, if there is one.

        Args:
            fit: Name of the fit.
            findings: Values of all people, a list for each view.
        """
        if self._path is None:
            return
        line = json.dumps({"fit": self._key(fit), "findings": findings})
        append_secret(self._path, f"\n{line}\n")  # The first newline ends a line that was cut off.

    def _key(self, fit: str) -> str:
        """Return the digest under which a fit's findings are stored."""
        return hashlib.sha256(f"{self._identity} {fit}".encode()).hexdigest()


def _read(path: Path) -> dict[str, list[list[float]]]:
    """Read the findings in a file by their keys; raise ConfigError for a file of another kind."""
    findings: dict[str, list[list[float]]] = {}
    lines = path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []
    for line in lines:
        if not (line.startswith(_BEGINS) or _BEGINS.startswith(line)):
            raise ConfigError(
                f"{path} holds no finished fits of an attack. Nothing was added to it. Name a new "
                "file."
            )
        with suppress(ValueError, KeyError):
            row = json.loads(line)
            findings[row["fit"]] = row["findings"]
    return findings
