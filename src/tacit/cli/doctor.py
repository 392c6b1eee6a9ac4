"""`tacit doctor`: checks that what tacit needs works on this machine, and lists its extras."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import typer

from tacit.cli.commands import command
from tacit.evaluation import Result, Table
from tacit.terminal import JSON, progress

DISTRIBUTION = "tacit-rec"
"""Name of tacit's package in package registries."""
app = typer.Typer()


@dataclass(frozen=True)
class Check:
    """One line of the report."""

    name: str
    """Word for what was examined."""
    state: Literal["ok", "warn", "fail"]
    """"ok"; "warn" for what works with a drawback; "fail" for what does not work."""
    found: str
    """Words for what was found."""
    advice: str = ""
    """What to do, or what could be done; "": nothing."""


@command(app)
def doctor(as_json: JSON = False) -> Result:
    """Check that everything tacit needs works on this machine.

    Exit code 1 if something that tacit requires does not work.
    """
    with progress("Examining", None, quiet=as_json):
        checks = list(examine())
    healthy = all(check.state != "fail" for check in checks)
    columns: dict[str, Callable[[Check], str]] = {
        "check": lambda check: check.name,
        "state": lambda check: check.state,
        "found": lambda check: f"{check.found}\n{check.advice}".strip(),
    }
    conclusion = "All is well." if healthy else "Something has to be put right first."
    shown = (Table.from_rows("", columns, checks), conclusion)
    return Result({"healthy": healthy, "checks": checks}, shown, failed=not healthy)


def examine() -> Iterator[Check]:
    """Run every check, in the order in which they are shown.

    A check that raises an error has failed. The advice is then to install tacit again.
    """
    for check in (python, packages, randomness, kernel, extras):
        try:
            yield check()
        except Exception as error:
            found = f"{type(error).__name__}: {error}".splitlines()[0]
            advice = f"Run  pip install --force-reinstall {DISTRIBUTION}"
            yield Check(check.__name__, "fail", found, advice)


def python() -> Check:
    """Check the version of Python."""
    machine = platform.platform(terse=True)
    found = f"{platform.python_version()} on {machine}, {os.cpu_count()} cores"
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Check("python", "ok", found)
    return Check("python", "fail", found, "Use Python 3.11, 3.12 or 3.13.")


def packages() -> Check:
    """Check that the packages that tacit declares are installed."""
    versions = {name: version_of(name) for name in _list_packages(extra=None)}
    missing = [name for name, version in versions.items() if version is None]
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if missing:
        advice = f"Missing: {', '.join(missing)}. Run  pip install {DISTRIBUTION}"
        return Check("packages", "fail", found, advice)
    return Check("packages", "ok", found)


def randomness() -> Check:
    """Check the operating system's generator of random numbers, which every release needs."""
    from tacit.randomness import secure

    first_words = secure().words(4).tolist()
    second_words = secure().words(4).tolist()
    if first_words == second_words:
        found = "the operating system repeats itself"
        return Check("randomness", "fail", found, "Release nothing from this machine.")
    return Check("randomness", "ok", "the operating system's generator answers")


def kernel() -> Check:
    """Check that a compiled kernel computes a known result, and that its code can be stored.

    It fails on a wrong result. If the code cannot be stored, it only warns.
    """
    import numpy as np
    from scipy import sparse

    from tacit import engine
    from tacit.engine.ridge import LANES, compile_kernel, solve

    # Ridge regression with factors X = I, shape (LANES, LANES), penalty 1 and values y of ones:
    # (X' X + I)^-1 X' y = (2 I)^-1 y, which is 0.5 in each entry.
    factors = np.eye(LANES)
    answer = solve(sparse.csr_array(np.ones((1, LANES))), factors, 1.0)
    if not np.allclose(answer, 0.5):
        return Check("kernel", "fail", "wrong result", "Reinstall numba and llvmlite.")
    # The folder in which numba stores the machine code of this kernel; None if it stores none.
    stats: Any = getattr(compile_kernel(LANES), "stats", None)
    folder = getattr(stats, "cache_path", None)
    if engine.private_cache or folder is None or not os.access(folder, os.W_OK):
        advice = "Every run compiles anew (seconds). Set NUMBA_CACHE_DIR to a folder you can write."
        return Check("kernel", "warn", "compiles, but the machine code cannot be kept", advice)
    return Check("kernel", "ok", f"compiles; machine code is kept in {folder}")


def extras() -> Check:
    """List the extras whose packages are installed, and what is missing for the others.

    Extras are optional, so that the check never fails because of a missing package.
    """
    from importlib import metadata

    complete = []
    incomplete = []
    for extra in metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []:
        missing = [name for name in _list_packages(extra=extra) if version_of(name) is None]
        if missing:
            incomplete.append(f"{extra} (missing: {', '.join(missing)})")
        else:
            complete.append(extra)
    found = f"installed: {', '.join(complete) or 'none'}"
    if not incomplete:
        return Check("extras", "ok", found)
    advice = f"Optional: {'; '.join(incomplete)}. To add one:  pip install '{DISTRIBUTION}[plots]'"
    return Check("extras", "ok", found, advice)


def _list_packages(*, extra: str | None) -> list[str]:
    """List the names of the packages that tacit's metadata requires, sorted.

    Args:
        extra: Extra for which they are required; None: for tacit without extras.
    """
    from importlib import metadata

    names = []
    for line in metadata.requires(DISTRIBUTION) or []:
        requirement, _, marker = line.partition(";")
        if extra is None:
            is_required = "extra" not in marker
        else:
            is_required = f"extra == '{extra}'" in marker.replace('"', "'")
        if is_required:
            # The name ends at the first other character: "numpy>=1.26" -> "numpy".
            names.append(re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0])
    return sorted(names)


def version_of(name: str) -> str | None:
    """Look up the version of an installed package; None where it is missing."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
