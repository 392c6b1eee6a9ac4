"""The pages whose blocks are all run, as a reader types them into an empty folder."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXECUTED = (
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "own-file.md",
    ROOT / "docs" / "year-of-fits.md",
    *sorted(page for page in (ROOT / "docs" / "api").glob("*.md") if page.name != "index.md"),
    *sorted((ROOT / "docs" / "notebooks").glob("*.md")),
)
