"""Files that are written whole or not at all, and secret files to which text is added."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tacit.errors import OutputError


def check_writable(path: str | Path) -> None:
    """Check that a file can be written at a path, before hours of work go into its content.

    Raises:
        OutputError: The path is a folder or a special file, or its folder is missing or read-only.
    """
    target = Path(path)
    try:
        obstacle = _find_obstacle(target)
    except OSError as error:
        raise explain_write_error(target, error) from None
    if obstacle is not None:
        raise OutputError(f"{target}: cannot be written, {obstacle}")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write all of a file or nothing: an old file stays until the new content is on disk.

    The permissions of a replaced file are kept; a new file gets the system's default permissions.

    Raises:
        OutputError: The file cannot be written; the old file is untouched.
    """
    check_writable(path)
    target = Path(path)
    # Not with `secrets`, whose import slows the help of every command.
    temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))  # before anybody may read it
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise explain_write_error(target, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def append_secret(path: Path, text: str) -> None:
    """Add text to a file that holds what single people did; a new one only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(text)


def explain_write_error(path: str | Path, error: OSError) -> OutputError:
    """Return an OutputError that gives the operating system's reason."""
    return OutputError(
        f"{path}: cannot be written ({error.strerror}). A file that was there is untouched. "
        "Free some space, or name another file."
    )


def _find_obstacle(target: Path) -> str | None:
    """Return why no file can be written at this path, in words; None if one can."""
    if target.is_dir():
        return "this is a folder. Add a file name."
    if not target.parent.is_dir():
        return f"the folder {target.parent} does not exist. Make it, or name another."
    if target.exists() and not target.is_file():
        return "this is not an ordinary file. Name another."
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the folder {target.parent} takes no new files. Name another."
    return None
