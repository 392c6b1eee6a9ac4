"""Make or renew the virtual environment `.venv`; with nothing changed, a second run does nothing.

    python tools/set_up.py                      what running tacit and its service needs
    python tools/set_up.py --all                what the tests, checks and documentation need too
    python tools/set_up.py --without-kernels    leave the kernels to the command that runs them

Versions are those that requirements.lock pins. uv installs the packages if there is uv, otherwise
the pip of the lock: pips that come with older Pythons take twice as long. Then the kernels are
compiled for this machine, so that the first command need not wait for that. This file uses the
standard library only, and syntax that old Pythons can parse, so that it can tell their users what
is missing.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "set-up-from"
PYTHON = ENVIRONMENT / "bin" / "python"
LOCK = ROOT / "requirements.lock"
RUNNING_LOCK = ENVIRONMENT / "running.lock"
PIP_LOCK = ENVIRONMENT / "pip.lock"
RUNNING_EXTRAS = ("service", "ledger")
"""Extras of pyproject.toml that `tacit demo` and `tacit serve` need."""
BUILDERS = ("hatchling", "editables")
"""Packages that install the checkout itself."""
TESTS_OF_PACKAGES = "/site-packages/.*/tests?/"
"""Pattern of the modules that no command imports."""
KERNELS = ROOT / "src" / "tacit" / "engine"
"""Folder of the kernels: numba stores their machine code below it."""


def main(arguments=()):  # type: (tuple[str, ...] | list[str]) -> int
    """Make or renew the environment; the exit code is 1 if that fails."""
    everything = "--all" in arguments
    with_kernels = "--without-kernels" not in arguments
    refusal = why_not()
    if refusal:
        print(refusal, file=sys.stderr)
        return 1
    if ENVIRONMENT.is_dir() and STAMP.is_file() and is_fresh(everything):
        if with_kernels:
            compile_kernels()
        print(".venv is up to date.")
        return 0
    try:
        install(everything)
    except subprocess.CalledProcessError as error:
        step = " ".join(str(part) for part in error.cmd[1:])
        print("Setting up stopped at:  python {}".format(step), file=sys.stderr)
        print(
            "Its reason stands above. Is the package index reachable? Then run it again; "
            "`make clean` starts from nothing.",
            file=sys.stderr,
        )
        return 1
    if with_kernels:
        compile_kernels()
    print("Done. Everything is in .venv; the command is .venv/bin/tacit")
    return 0


def why_not():  # type: () -> str
    """Return a sentence on what this Python lacks and what to do; "" if it lacks nothing."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return (
            "tacit needs Python 3.11, 3.12 or 3.13; {} is {}.{}. "
            "Name another one:  make setup PYTHON=python3.11".format(
                sys.executable, *sys.version_info[:2]
            )
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return (
            "This Python comes without venv. On Debian and Ubuntu:  apt install python3-venv  "
            "(or name another Python:  make setup PYTHON=...)"
        )
    return ""


def fingerprint():  # type: () -> str
    """Return a SHA-256 of all that an environment is made from, and of the folder that it is in."""
    digest = hashlib.sha256(str(ROOT).encode())
    for file in (ROOT / "pyproject.toml", LOCK):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_fresh(everything):  # type: (bool) -> bool
    """Say whether the last finished run installed enough, from the present files.

    Args:
        everything: Whether the packages of tests, checks and documentation are needed too.
    """
    installed, _, made_from = STAMP.read_text().partition(" ")
    return made_from == fingerprint() and (installed == "all" or not everything)


def running_requirements(lock, project):  # type: (str, str) -> str
    """Return the part of the lock that running needs: its packages, and those that they need.

    Args:
        lock: Text of requirements.lock. Comments below each package name the packages that need it.
        project: Text of pyproject.toml.
    """
    entries = entries_by_package(lock)
    needed_by = {
        name: set(re.findall(r"#\s+(?:via)?\s*([a-z0-9._-]+)", "\n".join(entries[name])))
        for name in entries
    }
    new_names = set(BUILDERS) | set(declared(project, "dependencies"))
    for extra in RUNNING_EXTRAS:
        new_names.update(declared(project, extra))
    chosen = set()
    while new_names:
        chosen |= new_names
        new_names = {name for name in entries if needed_by[name] & chosen} - chosen
    lines = []
    for name in sorted(chosen):
        lines += entries.get(name, [])
    return "\n".join(lines) + "\n"


def entries_by_package(lock):  # type: (str) -> dict[str, list[str]]
    """Return the entries of each package in the lock: one for each range of Pythons."""
    entries = {}  # type: dict[str, list[str]]
    for entry in re.split(r"\n(?=[a-z0-9])", lock.strip()):
        name = re.split(r"[^a-z0-9._-]", entry)[0]
        entries.setdefault(name, []).append(entry)
    return entries


def declared(project, key):  # type: (str, str) -> list[str]
    """Return the names of the packages in one list of pyproject.toml."""
    block = re.search(r"^" + key + r" = \[(.*?)\]$", project, re.DOTALL | re.MULTILINE)
    if block is None:
        raise SystemExit("pyproject.toml has no list '{}'.".format(key))
    return re.findall(r"\"([a-zA-Z0-9._-]+)", block.group(1))


def install(everything):  # type: (bool) -> None
    """Make the environment and install the packages; CalledProcessError if a step fails."""
    print(
        "Setting up .venv with Python {}.{}.{}, a minute or two ...".format(*sys.version_info[:3]),
        flush=True,
    )
    # Without this variable, pip's own modules are compiled once, not at each of its runs below.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not working():
        run(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)
    STAMP.unlink(missing_ok=True)  # an interrupted run must not pass for a finished one
    lock = LOCK
    if not everything:
        project = (ROOT / "pyproject.toml").read_text()
        RUNNING_LOCK.write_text(running_requirements(LOCK.read_text(), project))
        lock = RUNNING_LOCK
    installer = prepare_installer()
    run(*installer, "--require-hashes", "-r", lock)
    run(*installer, "--no-deps", "--no-build-isolation", "-e", ROOT)
    if sys.dont_write_bytecode:  # as that variable said when this program began
        compile_modules()
    STAMP.write_text("{} {}".format("all" if everything else "running", fingerprint()))


def prepare_installer():  # type: () -> tuple[object, ...]
    """Return the command that installs into the environment, of uv if there is uv, or of pip.

    Before the command of pip is returned, the lock's pip replaces the one that came with Python. If
    the index does not have it, the older pip installs, which takes longer.
    """
    uv = shutil.which("uv")
    if uv is not None:
        return (uv, "pip", "install", "--quiet", "--python", PYTHON)
    # Bytecode is written when a module is first imported: compiling all modules here would take as
    # long as the installation.
    pip = (PYTHON, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-compile")
    PIP_LOCK.write_text("\n".join(entries_by_package(LOCK.read_text())["pip"]) + "\n")
    try:
        run(*pip, "--require-hashes", "-r", PIP_LOCK)
    except subprocess.CalledProcessError:
        print("The pip of requirements.lock was not found; the present one installs.", flush=True)
    return pip


def compile_modules():  # type: () -> None
    """Write the bytecode of all packages. Their tests, which no command imports, are left out.

    It is needed where imports write no bytecode: there each command would compile its modules anew,
    which takes 7 seconds. Files that Python cannot parse are skipped.
    """
    packages = sorted(ENVIRONMENT.glob("lib/python*/site-packages"))
    command = [PYTHON, "-m", "compileall", "-q", "-x", TESTS_OF_PACKAGES, *packages, ROOT / "src"]
    subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, check=False)


def compile_kernels():  # type: () -> None
    """Fill numba's cache by a run of the demo, which runs the kernels of every design once.

    Nothing is done if the cache has kernels. A failure is only reported, because commands compile
    missing kernels themselves.
    """
    if next(KERNELS.rglob("*.nbi"), None) is not None:
        return
    print("Compiling the kernels for this machine, half a minute ...", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        finished = subprocess.run(
            [str(ENVIRONMENT / "bin" / "tacit"), "demo"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    if finished.returncode:
        print("That did not work; each command compiles the kernels that it runs.")


def working():  # type: () -> bool
    """Say whether there is an environment that works in this folder."""
    if not PYTHON.exists():
        return False
    code = "import sys, pip._internal.cli.main; print(sys.prefix)"
    answer = subprocess.run([str(PYTHON), "-c", code], stdout=subprocess.PIPE, check=False)
    return answer.stdout.decode().strip() == str(ENVIRONMENT)


def run(*command):  # type: (object) -> None
    """Run a command; CalledProcessError if it fails."""
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
