"""Write docs/data-sets.md from the published forms that the tests read.

python tools/data_sets_page.py [--check]

--check: write nothing; exit code 1 if the page is not what the forms say.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "data-sets.md"
_INTRODUCTION = """\
# Data sets

Data sets that people of the field try first, in their published forms, and the command that reads
each. The forms are tested with made-up people and rows (`tests/support/published_forms.py`), which
this page is written from (`tools/data_sets_page.py`). Check the licence of a data set first.

| data set | form | read by | gives |
|---|---|---|---|
"""


def write_page() -> str:
    """Write the text of the page."""
    sys.path.insert(0, str(ROOT))
    from tests.support.published_forms import FORMS

    lines = []
    for form in FORMS:
        command = shlex.join(["tacit", "data", "import", *form.command, "-o", "data"])
        command = command.replace("|", "\\|")
        gives = f"ratings on {form.scale}" if form.scale else "events"
        if form.titles:
            gives += ", titles"
        if form.refused:
            gives = "refused"
        note = f". {form.why}" if form.why else ""
        lines.append(f"| {form.name} | {form.shape} | `{command}` | {gives}{note} |")
    return _INTRODUCTION + "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(write_page(), "utf-8")
        return 0
    return int(PAGE.read_text("utf-8") != write_page())


if __name__ == "__main__":
    sys.exit(main())
