"""Refuse text that ties the project to one machine, and words that are not plain English.

A lock or a page with the address of a package index or a home folder does not work elsewhere. Words
are refused in texts that users read: code, documentation, the client, and unreleased changes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from tracked import ROOT, text_files

# Written in pieces, so that this file does not refuse itself.
INDEX_HOST = "|".join(("python" + r"hosted\.org", "py" + r"pi\.org", "npm" + r"js\.(org|com)"))
HOME = "|".join(
    (r"(?<![\w.])/ro" + "ot/", r"(?<![\w.])/ho" + r"me/\w", r"(?<![\w.])/Us" + r"ers/\w")
)
REFUSED = re.compile(f"{INDEX_HOST}|{HOME}")

WORDS = {
    "whoever": "anyone who, or name the party",
    "somebody": "a person, a user, or name the party",
    "yardsticks?": "baseline",
    "turned round": "flipped, inverted",
    "putting back": "replacement",
    "endless": "infinite, an infinite population",
    "at home": "on the device",
    "(?:is|are|was|were|be|been) told": "is reported, is sent, gets, sees",
    "twins?": "non-private variant, the unchanged mechanism",
    r"crowds?(?!-| \{)": "population",  # not in a seed's text, nor in an option's value
    "she|hers?|herself": "they, the person, a user",
}
"""What is refused, as a pattern of whole words, and what to write instead."""
IN_PAGES = {
    "told": "reported, sent, revealed",
    "nobody(?! but)|everybody(?!'s ratings)|anybody": "no one, everyone, anyone, or name the party",
}
"""The same for documentation only, since names in code may have these words."""
READ = ("src", "docs", "README.md", "CHANGELOG.md", "client/src", "client/page/src")


def _patterns(words: dict[str, str]) -> dict[re.Pattern[str], str]:
    """Compile patterns of whole words, in either case and with any white space between words."""
    patterns = {}
    for expression, replacement in words.items():
        pattern = rf"\b(?:{expression})\b".replace(" ", r"\s+")
        patterns[re.compile(pattern, re.IGNORECASE)] = replacement
    return patterns


_EVERYWHERE, _PAGES = _patterns(WORDS), _patterns(WORDS | IN_PAGES)
_RELEASED = re.compile(r"^## \[\d", re.MULTILINE)


def plain(name: str, text: str) -> Iterator[str]:
    """Yield a line for each refused word of a file; of a changelog, the unreleased part counts.

    Args:
        name: Path of the file; Markdown is documentation.
        text: Its content.
    """
    if name.endswith("CHANGELOG.md"):
        text = _RELEASED.split(text)[0]
    patterns = _PAGES if name.endswith(".md") else _EVERYWHERE
    for pattern, replacement in patterns.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: '{' '.join(match.group().split())}': write {replacement}"


def _names_of_places(name: str, text: str) -> Iterator[str]:
    """Yield a line for each line of a file that names a package index or a home folder."""
    for number, line in enumerate(text.splitlines(), 1):
        match = REFUSED.search(line)
        if match is not None:
            yield f"{name}:{number}: names '{match.group()}'"


def main() -> int:
    """Print everything that is refused; the exit code is 1 if there is anything."""
    problems: list[str] = []
    for file, text in text_files():
        problems += _names_of_places(str(file.relative_to(ROOT)), text)
    for file, text in text_files(*READ):
        problems += plain(str(file.relative_to(ROOT)), text)
    print("\n".join(problems) or "No package index host, no home folder and no refused word.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
