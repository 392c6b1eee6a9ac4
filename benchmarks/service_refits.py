"""Fits of a served folder while it is under load, as the unit of `tacit init` runs them."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import sys
import time
from pathlib import Path

from tacit.designs.private.folder_fits import RefitSettings
from tacit.designs.private.serve import generate_ratings

MODEL = "lists.tacit"
NICE = ("nice", "-n", "10")
"""Begins a command with a low priority, as `Nice=10` of the unit gives it."""


class Refits:
    """Fits of the private lists of a demonstration, one after the other.

    Attributes:
        digests: SHA-256 of each fitted model, in hexadecimal digits.
        seconds: Of each fit, the seconds from its start until the service had its model.
    """

    def __init__(self, folder: Path) -> None:
        """Write the ratings of the demonstration into its folder."""
        self.digests: list[str] = []
        self.seconds: list[float] = []
        self._folder = folder
        self._ratings = folder / "ratings.csv"
        write_ratings(folder)

    async def run(self, ready: str) -> None:
        """Fit again, and wait until the service has the new model.

        Args:
            ready: Address of the service's /readyz.

        Raises:
            RuntimeError: The fit failed.
        """
        started_at = time.perf_counter()
        words = (*NICE, sys.executable, "-m", "tacit.cli.app", "refit")
        process = await asyncio.create_subprocess_exec(
            *words,
            str(self._folder),
            str(self._ratings),
            "--json",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        if process.returncode:
            raise RuntimeError(errors.decode())
        digest = json.loads(output)["digest"]
        assert digest == hashlib.sha256((self._folder / MODEL).read_bytes()).hexdigest()
        while digest not in await asyncio.to_thread(served_digests, ready):
            await asyncio.sleep(0.5)
        self.digests.append(digest)
        self.seconds.append(time.perf_counter() - started_at)


def write_ratings(folder: Path) -> None:
    """Write the ratings of the demonstration's lists, and how to fit them again."""
    ratings = generate_ratings()
    with (folder / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "item", "rating"))
        users = ratings.user_ids[ratings.users].tolist()
        items = ratings.item_ids[ratings.items].tolist()
        writer.writerows(zip(users, items, ratings.values.tolist(), strict=True))
    with (folder / "items.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "title", "genres"))
        metadata = ratings.item_metadata
        columns = (ratings.item_ids, metadata["title"], metadata["genres"])
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    items = str(folder / "items.csv")
    rows = {"scale": "1:5:1", "items": items}
    RefitSettings(model=MODEL, epsilon=1.0, catalogue=items, rows=rows).write(folder)


def served_digests(ready: str) -> list[str]:
    """Return the digests of the models that the service has now; `ready` is that of /readyz."""
    from urllib.request import urlopen

    with urlopen(ready) as answer:
        return [model["digest"] for model in json.load(answer)["models"]]
