"""Files that are written whole or not at all: models, reports, generated ratings."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from tacit.errors import OutputError


def check_writable(path: str | Path) -> None:
    """OutputError unless a file could be written here: asked before hours of work, not after."""
    target = Path(path)
    try:
        reason = _obstacle(target)
    except OSError as error:
        raise refusal(target, error) from None
    if reason is not None:
        raise OutputError(f"{target}: cannot be written, {reason}")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write all of a file or nothing: what was there stays until the new file is on disk.

    A new file gets the mode of any other new file; one that is replaced hands its mode on.
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
        raise refusal(target, error) from None
    finally:
        part.unlink(missing_ok=True)


def refusal(path: str | Path, error: OSError) -> OutputError:
    """The system's own reason, in a sentence."""
    return OutputError(
        f"{path}: cannot be written ({error.strerror}). What was there is untouched. Make room "
        "there, or name another file."
    )


def _obstacle(target: Path) -> str | None:
    if target.is_dir():
        return "this is a folder. Add a file name."
    if not target.parent.is_dir():
        return f"the folder {target.parent} does not exist. Make it, or name another."
    if target.exists() and not target.is_file():
        return "this is no ordinary file. Name another."
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the folder {target.parent} takes no new files. Name another."
    return None
