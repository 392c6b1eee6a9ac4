"""Build the service's page from client/page into src/tacit/service/page; needs Node 20 and npm.

With nothing changed, a second run does nothing. Standard library only: the wheel's build runs it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "client" / "page"
BUILT = ROOT / "src" / "tacit" / "service" / "page"
STAMP = BUILT / ".built-from"
"""File with the fingerprint of the sources. It is written last, so that an interrupted build is not
taken for a finished one."""
_SOURCES = (PAGE / "src", ROOT / "client" / "src")
_SETTINGS = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


class Unbuilt(Exception):
    """The page was not built; the message is a sentence that says why, and what to do."""


class NoNode(Unbuilt):
    """The page was not built because npm is not installed."""


def main() -> int:
    """Build the page; the exit code is 1 if that fails."""
    try:
        print("The page was built." if build() else "The page is up to date.")
    except Unbuilt as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build() -> bool:
    """Build the page unless it is up to date, and say whether it was built.

    Raises:
        NoNode: npm is not installed.
        Unbuilt: A command of npm failed.
    """
    if up_to_date():
        return False
    npm = shutil.which("npm")
    if npm is None:
        raise NoNode("The page needs Node 20 with npm, and there is none. Everything else works.")
    if not _installed():
        _run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        (PAGE / "node_modules" / ".made-from").write_text(_lock())
    _run(npm, "run", "--silent", "build")
    STAMP.write_text(fingerprint())
    return True


def up_to_date() -> bool:
    """Say whether the page was built from the present sources; True if there are no sources."""
    if not PAGE.is_dir():
        return True
    return STAMP.is_file() and STAMP.read_text() == fingerprint()


def fingerprint() -> str:
    """Return a SHA-256 of all files that the page is built from."""
    digest = hashlib.sha256()
    for file in _files():
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _files() -> Iterator[Path]:
    """Yield all files that the page is built from."""
    yield from (PAGE / name for name in _SETTINGS)
    for folder in _SOURCES:
        yield from sorted(file for file in folder.rglob("*") if file.is_file())


def _installed() -> bool:
    """Say whether the packages of the present lock are installed."""
    stamp = PAGE / "node_modules" / ".made-from"
    return stamp.is_file() and stamp.read_text() == _lock()


def _lock() -> str:
    """Return a SHA-256 of the lock of npm's packages."""
    return hashlib.sha256((PAGE / "package-lock.json").read_bytes()).hexdigest()


def _run(*command: str) -> None:
    """Run a command in the page's folder; raise Unbuilt with its output if it fails."""
    finished = subprocess.run(
        command, cwd=PAGE, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if finished.returncode:
        output = finished.stdout.decode(errors="replace").strip()
        raise Unbuilt(
            f"{output}\nBuilding the page stopped at:  npm {' '.join(command[1:])}  in "
            "client/page. Its reason stands above. Is Node at least 20, and the package registry "
            "reachable?"
        )


if __name__ == "__main__":
    sys.exit(main())
