"""Packages whose pins are at odds with tacit's run in environments of their own.

tests/environments/PACKAGE.txt says what such an environment holds. The variable
TACIT_PACKAGE_PYTHON names the Python of one that exists, such as TACIT_RECBOLE_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import tacit

REQUIREMENTS = Path(__file__).parents[1] / "environments"


def find_python(package: str) -> Path | None:
    """Find the Python of an environment that the package's variable names; None for none.

    Raises:
        FileNotFoundError: The variable names something else.
    """
    variable = variable_of(package)
    named = os.environ.get(variable)
    if not named:
        return None
    if not Path(named).is_file():
        raise FileNotFoundError(f"{variable}: there is no Python at {named}")
    return Path(named)


def variable_of(package: str) -> str:
    """Name the variable that names a package's Python."""
    return f"TACIT_{package.upper()}_PYTHON"


def make_python(package: str, folder: Path) -> Path | None:
    """Make an environment with a package and return its Python; None if it cannot be installed."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wanted = str(REQUIREMENTS / f"{package}.txt")
    made = subprocess.run(
        [python, "-m", "pip", "install", "-q", "-r", wanted], capture_output=True, check=False
    )
    return None if made.returncode else python


def run_beside_tacit(python: Path, code: str, *paths: Path, cwd: Path | None = None) -> str:
    """Run code in an environment, with tacit and its packages behind those of the environment.

    Args:
        python: Python of the environment.
        code: Code to run.
        paths: Folders to import from before all others.
        cwd: Folder to run in; None: where the tests run.

    Returns:
        What the code printed.

    Raises:
        AssertionError: The code failed; its errors are repeated.
    """
    home = next((python.parents[1] / "lib").glob("python*/site-packages"))
    source = Path(tacit.__file__).parents[1]
    folders = [*paths, source, home, Path(sysconfig.get_paths()["purelib"])]
    ran = subprocess.run(
        [python, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
