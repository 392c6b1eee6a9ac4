"""Findings of fits that an attack has finished, in a file, so that a stopped attack goes on.

The file holds how far hidden items rose for each attacked person: it is as secret as the attack's
other findings. It is text, a JSON object a line; a line that was cut off is left out.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from tacit.errors import ConfigError

_BEGINS = '{"fit": "'
"""First characters of every line."""


class FinishedFits:
    """Findings by the name of a fit.

    Args:
        path: File to read and to add to; None keeps nothing.
        identity: Whatever findings depend on beside the name: model, ratings, settings.

    Raises:
        ConfigError: The file is of another kind.
    """

    def __init__(self, path: Path | None = None, identity: str = "") -> None:
        self._path = path
        self._identity = identity
        self._known = {} if path is None else _read(path)

    def find(self, fit: str) -> list[list[float]] | None:
        """Return the findings of a fit, or None where it is not finished."""
        return self._known.get(self._key(fit))

    def add(self, fit: str, findings: list[list[float]]) -> None:
        """Add the findings of a fit to the file."""
        if self._path is None:
            return
        line = json.dumps({"fit": self._key(fit), "findings": findings})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")  # begins anew after a line that was cut off

    def _key(self, fit: str) -> str:
        """Return the digest under which a fit's findings are stored."""
        return hashlib.sha256(f"{self._identity} {fit}".encode()).hexdigest()


def _read(path: Path) -> dict[str, list[list[float]]]:
    """Read findings by the key of a fit; ConfigError for a file of another kind."""
    findings: dict[str, list[list[float]]] = {}
    lines = path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []
    for line in lines:
        if not (line.startswith(_BEGINS) or _BEGINS.startswith(line)):
            raise ConfigError(
                f"{path} holds no finished fits of an attack. Nothing was added to it. Name a new "
                "file."
            )
        with suppress(ValueError):
            row = json.loads(line)
            findings[row["fit"]] = row["findings"]
    return findings
