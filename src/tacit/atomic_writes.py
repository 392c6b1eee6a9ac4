"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from tacit.errors import OutputError


def check_writable(path: str | Path) -> None:
    """Refuse a path where no file could be written: before hours of work, not after.

    Raises:
        OutputError: The path is a folder or no ordinary file, or its folder is missing or closed.
    """
    target = Path(path)
    try:
        obstacle = _find_obstacle(target)
    except OSError as error:
        raise explain_write_error(target, error) from None
    if obstacle is not None:
        raise OutputError(f"{target}: cannot be written, {obstacle}")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write all of a file or nothing: what was there stays until the new file is on disk.

    A new file gets the mode of any other new file; one that is replaced hands its mode on.

    Raises:
        OutputError: The file cannot be written; what was there is untouched.
    """
    check_writable(path)
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except OSError as error:
        raise explain_write_error(target, error) from None
    finally:
        part.unlink(missing_ok=True)


def explain_write_error(path: str | Path, error: OSError) -> OutputError:
    """Return the system's own reason, in a sentence."""
    return OutputError(
        f"{path}: cannot be written ({error.strerror}). What was there is untouched. Make room "
        "there, or name another file."
    )


def _find_obstacle(target: Path) -> str | None:
    """Say what stands in the way of a file at this path; None if nothing does."""
    if target.is_dir():
        return "this is a folder. Add a file name."
    if not target.parent.is_dir():
        return f"the folder {target.parent} does not exist. Make it, or name another."
    if target.exists() and not target.is_file():
        return "this is no ordinary file. Name another."
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the folder {target.parent} takes no new files. Name another."
    return None
