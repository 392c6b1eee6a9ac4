"""The site's map: a short sidebar, and every page reached from another page than the first."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.seen import require_any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s#]+\.md)[^)]*\)")
MOST_IN_SIDEBAR = 30


def sidebar() -> list[str]:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = []
    for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
        entries += [line for line in tree.splitlines() if line and not line.startswith(":")]
    return entries


def pages() -> list[Path]:
    found = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    return require_any(found)


def test_the_sidebar_is_short_and_each_entry_is_a_page():
    """At most thirty links; none to a decision or a mechanism."""
    entries = sidebar()
    assert 20 <= len(entries) <= MOST_IN_SIDEBAR
    assert len(set(entries)) == len(entries)
    assert all((DOCS / f"{entry}.md").is_file() for entry in entries)
    assert not [entry for entry in entries if entry.startswith(("decisions", "mechanisms"))]


def test_every_page_is_reached_from_another_page_than_the_index():
    """By a link in its text; a page that nothing leads to is not found."""
    reached: set[Path] = set()
    for page in pages():
        if page == DOCS / "index.md":
            continue
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            if found != page:
                reached.add(found)
    left = {page.relative_to(DOCS) for page in pages() if page.resolve() not in reached}
    assert left <= {Path("index.md")}
