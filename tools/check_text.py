"""Refuse text that ties the project to one machine: package index hosts and home folders.

A lock or a page with an address in it stops working behind a mirror, and tells where it was made.
"""

from __future__ import annotations

import re
import sys

from tracked import ROOT, text_files

# Written in pieces, so that this file does not refuse itself.
INDEX_HOST = "|".join(("python" + r"hosted\.org", "py" + r"pi\.org", "npm" + r"js\.(org|com)"))
HOME = "|".join(
    (r"(?<![\w.])/ro" + "ot/", r"(?<![\w.])/ho" + r"me/\w", r"(?<![\w.])/Us" + r"ers/\w")
)
REFUSED = re.compile(f"{INDEX_HOST}|{HOME}")


def main() -> int:
    found = [
        f"{file.relative_to(ROOT)}:{number}: names '{match.group()}'"
        for file, text in text_files()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := REFUSED.search(line))
    ]
    print("\n".join(found) or "No package index host and no home folder is named.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
