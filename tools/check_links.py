"""Find dead links in the Markdown pages: files that are not there, anchors no heading makes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from tracked import ROOT, text_files

FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,}).*?^(?P=mark)`*~*[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(?P<mark>`+)(?!`).+?(?<!`)(?P=mark)(?!`)")
LINK = re.compile(
    r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?(?P<target>[^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)"
)
REFERENCE = re.compile(r"^[ ]{0,3}\[[^\]]+\]:\s*<?(?P<target>[^\s>]+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}[ \t]+(?P<text>.+?)[ \t]*#*$", re.MULTILINE)
TARGET = re.compile(r"^\((?P<name>[\w-]+)\)=$|<a\s+(?:id|name)=\"(?P<id>[^\"]+)\"", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def main() -> int:
    """Print the dead links of all pages; the exit code is 1 if there are any."""
    pages = list(text_files("*.md"))
    dead_links: list[str] = []
    for page, text in pages:
        dead_links += problems(page, text)
    print("\n".join(dead_links) or f"{len(pages)} pages, no dead link.")
    return 1 if dead_links else 0


def problems(page: Path, text: str) -> Iterator[str]:
    """Yield a line for each dead link of a page; links to other sites are not checked."""
    prose = blank(FENCE, text)
    prose = blank(CODE, prose)
    for match in (*LINK.finditer(prose), *REFERENCE.finditer(prose)):
        target = match["target"]
        if ELSEWHERE.match(target):
            continue
        line = prose.count("\n", 0, match.start()) + 1
        where = f"{page.relative_to(ROOT) if page.is_relative_to(ROOT) else page}:{line}"
        name, _, anchor = unquote(target).partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{where}: no file '{name}'"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{where}: no heading '#{anchor}' in {name or 'this page'}"


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Overwrite all matches with blanks, and keep line breaks, so that lines keep their numbers.

    Code is overwritten because links in it are only shown.
    """
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: those of its headings, and those that are set explicitly.

    A heading's anchor is its text in lower case with hyphens for spaces; a repeated one gets a
    number.
    """
    text = blank(FENCE, page.read_text(encoding="utf-8"))
    names = {match["name"] or match["id"] for match in TARGET.finditer(text)}
    seen: dict[str, int] = {}
    for match in HEADING.finditer(text):
        slug = re.sub(r"[^\w\- ]", "", match["text"].lower()).replace(" ", "-")
        names.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return frozenset(names)


if __name__ == "__main__":
    sys.exit(main())
