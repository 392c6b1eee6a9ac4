"""Make or renew the virtual environment `.venv`; with nothing changed, a second run does nothing.

    python tools/set_up.py                      what running tacit and its service needs
    python tools/set_up.py --all                what the tests, checks and documentation need too
    python tools/set_up.py --without-kernels    leave the kernels to the command that runs them

All take the pinned versions of requirements.lock. uv installs them where it is, pip otherwise.
Then the compiled kernels are made for this machine, so that the first command starts at once.
Standard library only, in words that an old Python can still parse, to say what is missing.
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
RUNNING_EXTRAS = ("service", "ledger")
"""Extras of pyproject.toml that `tacit demo` and `tacit serve` need."""
BUILDERS = ("hatchling", "editables")
"""What installs the checkout itself."""
KERNELS = ROOT / "src" / "tacit" / "engine"
"""Folder of the kernels: numba stores their machine code below it."""


def main(arguments=()):  # type: (tuple[str, ...] | list[str]) -> int
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
    """What this Python lacks, as one sentence with the way out; empty if nothing."""
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
    """Changes with whatever makes an environment stale: its inputs, and the folder it lies in."""
    digest = hashlib.sha256(str(ROOT).encode())
    for file in (ROOT / "pyproject.toml", LOCK):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_fresh(everything):  # type: (bool) -> bool
    """Whether the last finished run installed this from these files."""
    installed, _, made_from = STAMP.read_text().partition(" ")
    return made_from == fingerprint() and (installed == "all" or not everything)


def running_requirements(lock, project):  # type: (str, str) -> str
    """The part of the lock that running needs: its packages, and those that they need.

    Args:
        lock: Text of requirements.lock: under each package stand, as comments, who needs it.
        project: Text of pyproject.toml.
    """
    entries = {}  # type: dict[str, list[str]]
    needed_by = {}  # type: dict[str, set[str]]
    for entry in re.split(r"\n(?=[a-z0-9])", lock.strip()):
        name = re.split(r"[^a-z0-9._-]", entry)[0]
        entries.setdefault(name, []).append(entry)  # one for each range of Pythons
        comments = re.findall(r"#\s+(?:via)?\s*([a-z0-9._-]+)", entry)
        needed_by.setdefault(name, set()).update(comments)
    wanted = set(BUILDERS) | set(declared(project, "dependencies"))
    for extra in RUNNING_EXTRAS:
        wanted.update(declared(project, extra))
    chosen = set()
    while wanted:
        chosen |= wanted
        wanted = {name for name in entries if needed_by[name] & chosen} - chosen
    lines = []
    for name in sorted(chosen):
        lines += entries.get(name, [])
    return "\n".join(lines) + "\n"


def declared(project, key):  # type: (str, str) -> list[str]
    """Names of the packages of one list of pyproject.toml."""
    block = re.search(r"^" + key + r" = \[(.*?)\]$", project, re.DOTALL | re.MULTILINE)
    if block is None:
        raise SystemExit("pyproject.toml has no list '{}'.".format(key))
    return re.findall(r"\"([a-zA-Z0-9._-]+)", block.group(1))


def install(everything):  # type: (bool) -> None
    print(
        "Setting up .venv with Python {}.{}.{}, a minute or two ...".format(*sys.version_info[:3]),
        flush=True,
    )
    if not working():
        run(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)
    STAMP.unlink(missing_ok=True)  # an interrupted run must not pass for a finished one
    lock = LOCK
    if not everything:
        project = (ROOT / "pyproject.toml").read_text()
        RUNNING_LOCK.write_text(running_requirements(LOCK.read_text(), project))
        lock = RUNNING_LOCK
    installer = find_installer()
    run(*installer, "--require-hashes", "-r", lock)
    run(*installer, "--no-deps", "--no-build-isolation", "-e", ROOT)
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        compile_everything()
    STAMP.write_text("{} {}".format("all" if everything else "running", fingerprint()))


def find_installer():  # type: () -> tuple[object, ...]
    """The command that installs into the environment: uv's where it is, else pip's."""
    uv = shutil.which("uv")
    if uv is not None:
        return (uv, "pip", "install", "--quiet", "--python", PYTHON)
    # Bytecode is made of what is imported, when it is: compiling everything takes half of the time.
    return (PYTHON, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-compile")


def compile_everything():  # type: () -> None
    """Write the bytecode of all packages, where no import may: it would be made at each start.

    A command takes 7 seconds more without it. Files of packages that no Python can read are left.
    """
    packages = sorted(ENVIRONMENT.glob("lib/python*/site-packages"))
    command = [PYTHON, "-m", "compileall", "-q", *packages, ROOT / "src"]
    subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, check=False)


def compile_kernels():  # type: () -> None
    """Fill numba's cache, unless it is filled: the demo runs the kernels of every design once.

    Without it the first command that runs a kernel compiles it, so a failure here stops nothing.
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
    """Whether an environment is there that still runs from this folder."""
    if not PYTHON.exists():
        return False
    code = "import sys, pip; print(sys.prefix)"
    answer = subprocess.run([str(PYTHON), "-c", code], stdout=subprocess.PIPE, check=False)
    return answer.stdout.decode().strip() == str(ENVIRONMENT)


def run(*command):  # type: (object) -> None
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
