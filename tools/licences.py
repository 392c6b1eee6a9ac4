"""The licence of each package that tacit's tests and extras install, as a page of the docs.

`python tools/licences.py` writes docs/licences.md from requirements.lock and the metadata of the
installed packages; a test compares the two. It fails at a package that states no licence, which a
person has to look up.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from typing import NamedTuple, cast

from tracked import ROOT

LOCK = ROOT / "requirements.lock"
PAGE = ROOT / "docs" / "licences.md"
HEAD = """# Licences of the dependencies

This page is generated from `requirements.lock` and the metadata of the packages
(`python tools/licences.py`); a test compares the two. tacit itself is under the Apache License 2.0
and contains none of these packages. `tacit` alone needs the packages marked *always*; the others
belong to extras, to tests and to the documentation, or are needed by another package.

"""
OTHER_SYSTEMS = ("win32", "emscripten")
"""Systems in the conditions of packages that a POSIX system does not install."""
_CLASSIFIER = "License :: OSI Approved :: "
_LONGEST_NAME = 60
"""Most characters of a licence's name; a longer text is the licence itself."""


class Package(NamedTuple):
    """One line of the page."""

    name: str
    version: str
    licence: str
    is_direct: bool


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    lines = ["| package | version | licence | needed |", "|---|---|---|---|"]
    for package in packages():
        needed = "always" if package.is_direct else ""
        lines.append(f"| {package.name} | {package.version} | {package.licence} | {needed} |")
    return HEAD + "\n".join(lines) + "\n"


def packages() -> Iterator[Package]:
    """Yield the packages of the lock, with the licences that they state.

    Packages for systems other than POSIX are left out. If the lock has several versions of a
    package, for different Pythons, all are named; the licence is that of the installed one.

    Raises:
        SystemExit: a package is not installed, or states no licence.
    """
    direct = direct_dependencies()
    for name, versions in read_lock().items():
        try:
            facts = cast(Message, metadata(name))  # a Message, whose typed protocol has less
        except PackageNotFoundError:
            raise SystemExit(f"{name} of the lock is not installed.") from None
        licence = read_licence(facts)
        if not licence:
            raise SystemExit(f"{name} states no licence: look into its files, and say it here.")
        yield Package(name, ", ".join(versions), licence, name in direct)


def read_lock() -> dict[str, list[str]]:
    """Read the versions of each package in the lock that a POSIX system installs."""
    found: dict[str, list[str]] = {}
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        match = re.match(r"([a-z0-9._-]+)==([^ ;]+)(.*)", line)
        if match and not any(system in match[3] for system in OTHER_SYSTEMS):
            found.setdefault(match[1], []).append(match[2])
    return found


def direct_dependencies() -> set[str]:
    """Return the names of the packages that tacit itself needs, without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = set()
    for requirement in project["dependencies"]:
        names.add(re.split(r"[<>=\[;! ]", requirement)[0].lower())
    return names


def read_licence(facts: Message) -> str:
    """Return the name of the licence in a package's metadata; "" if there is none."""
    stated = facts.get("License-Expression") or ""
    classifiers = facts.get_all("Classifier") or []
    approved = [text.removeprefix(_CLASSIFIER) for text in classifiers if _CLASSIFIER in text]
    if not stated and approved:
        stated = ", ".join(approved)
    written = (facts.get("License") or "").strip().splitlines()
    if not stated and written:
        stated = written[0]
    return stated if len(stated) <= _LONGEST_NAME or " AND " in stated else ""


if __name__ == "__main__":
    main()
