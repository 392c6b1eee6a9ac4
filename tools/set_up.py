"""Make or renew the virtual environment `.venv`; with nothing changed, a second run does nothing.

Standard library only, in words that an old Python can still parse, to say what is missing.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "set-up-from"
PYTHON = ENVIRONMENT / "bin" / "python"
LOCK = ROOT / "requirements.lock"


def main():  # type: () -> int
    refusal = why_not()
    if refusal:
        print(refusal, file=sys.stderr)
        return 1
    if ENVIRONMENT.is_dir() and STAMP.is_file() and STAMP.read_text() == fingerprint():
        print(".venv is up to date.")
        return 0
    try:
        install()
    except subprocess.CalledProcessError as error:
        step = " ".join(str(part) for part in error.cmd[1:])
        print("Setting up stopped at:  python {}".format(step), file=sys.stderr)
        print(
            "Its reason stands above. Is the package index reachable? Then run it again; "
            "`make clean` starts from nothing.",
            file=sys.stderr,
        )
        return 1
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


def install():  # type: () -> None
    print(
        "Setting up .venv with Python {}.{}.{}, a minute or two ...".format(*sys.version_info[:3]),
        flush=True,
    )
    if not working():
        run(sys.executable, "-m", "venv", "--clear", ENVIRONMENT)
    STAMP.unlink(missing_ok=True)  # an interrupted run must not pass for a finished one
    pip = (PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    run(*pip, "--require-hashes", "-r", LOCK)
    run(*pip, "--no-deps", "--no-build-isolation", "-e", ROOT)
    STAMP.write_text(fingerprint())
    print("Done. Everything is in .venv; the command is .venv/bin/tacit")


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
    sys.exit(main())
