"""Three files as people have them, of generated people; none can be read without an import."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from tacit.data import Ratings, generate


def messy_files(folder: Path, *, users: int, items: int, ratings: int, seed: int = 1) -> list[Path]:
    """A German spreadsheet, events packed with gzip, and Parquet with names of its own."""
    made = generate(users=users, items=items, ratings=ratings, seed=seed)
    return [_spreadsheet(folder, made, seed), _events(folder, made), _parquet(folder, made)]


def own_ratings(folder: Path) -> Path:
    """One person's own ratings, as messy as the spreadsheet."""
    path = folder / "meine.csv"
    path.write_bytes("Artikel;Bewertung\r\nA3;5,0\r\nA7;2,0\r\nA11;4,0\r\n".encode("cp1252"))
    return path


def _spreadsheet(folder: Path, made: Ratings, seed: int) -> Path:
    """Semicolons, Windows-1252, `3,0`, `14.12.2009 02:52`, one score in ten missing, some torn."""
    missing = np.random.default_rng(seed).random(len(made)) < 0.1
    lines = ["Kundennummer;Artikel;Bezeichnung;Bewertung;Datum"]
    assert made.timestamps is not None
    for row, moment in enumerate(made.timestamps.tolist()):
        person, item = made.users[row], made.items[row]
        score = "" if missing[row] else f"{made.values[row]:.1f}".replace(".", ",")
        when = datetime.fromtimestamp(moment, UTC).strftime("%d.%m.%Y %H:%M")
        lines.append(f"K{person:05};A{item};Käse Nr. {item};{score};{when}")
    lines += [";;;;", "Summe;;;999,0;", "K00001;A1"]
    path = folder / "bewertungen.csv"
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return path


def _events(folder: Path, made: Ratings) -> Path:
    """No scores at all, milliseconds, columns that say nothing."""
    assert made.timestamps is not None
    rows = zip(made.timestamps.tolist(), made.users, made.items, strict=True)
    lines = (f"{moment * 1000},{person},view,{item}," for moment, person, item in rows)
    text = "timestamp,visitorid,event,itemid,transactionid\n" + "\n".join(lines) + "\n"
    path = folder / "events.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def _parquet(folder: Path, made: Ratings) -> Path:
    """String ids, other names, nulls."""
    frame = pl.DataFrame(
        {
            "created_at": made.timestamps,
            "score": np.where(np.arange(len(made)) % 50, made.values, np.nan),
            "sku": [f"{item:06}" for item in made.items],
            "customer": [f"u{person}@example.org" for person in made.users],
        }
    ).with_columns(pl.from_epoch("created_at"), pl.col("score").fill_nan(None))
    path = folder / "orders.parquet"
    frame.write_parquet(path)
    return path
