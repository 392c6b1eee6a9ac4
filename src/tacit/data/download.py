"""Official MovieLens archives: fetched once, checked by SHA-256, unpacked carefully.

Source of the checksums   the table of TensorFlow Datasets (url_checksums/movielens.txt) for 100K,
1M, 20M, 25M and latest-small; the loaders of OmniRec (10M) and of discorec (32M), each found again
with the archive's size in several unrelated projects. GroupLens itself publishes only MD5.
"""

from __future__ import annotations

import logging
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tacit.errors import ConfigError, DownloadError

PAGE = "https://grouplens.org/datasets/movielens/"
BASE = "https://files.grouplens.org/datasets/movielens/"
LICENCE = "Read the README in the folder: MovieLens data may not be sold or passed on freely."
_BLOCK = 1 << 20


_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Archive:
    """One zip file: its size in bytes, its SHA-256, and the folder it unpacks to."""

    size: int
    sha256: str
    folder: str
    unpacked: int  # bytes at most, all files together; a bigger archive is not the published one


_SUMS = {
    "ml-100k": "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    "ml-1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "ml-20m": "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    "ml-25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    "ml-32m": "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    "ml-latest-small": "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
}
_SIZES = {
    "ml-100k": (4_924_029, 64 * _MIB),
    "ml-1m": (5_917_549, 128 * _MIB),
    "ml-10m": (65_566_137, 1024 * _MIB),
    "ml-20m": (198_702_078, 2048 * _MIB),
    "ml-25m": (261_978_986, 2048 * _MIB),
    "ml-32m": (238_950_008, 2048 * _MIB),
    "ml-latest-small": (978_202, 32 * _MIB),
}
ARCHIVES = {
    name: Archive(size, _SUMS[name], "ml-10M100K" if name == "ml-10m" else name, unpacked)
    for name, (size, unpacked) in _SIZES.items()
}


def get(
    name: str, folder: str | Path, *, base: str = BASE, advance: Callable[[int], Any] | None = None
) -> Path:
    """Fetch `name` (a key of `ARCHIVES`) into `folder` and return the folder with its files.

    A zip file already lying in `folder` is used if its SHA-256 is right, so an archive fetched by
    hand works; data already unpacked there is returned at once. advance: called
    with the number of bytes that came.
    """
    if name not in ARCHIVES:
        raise ConfigError(f"No data set '{name}' is offered. Choose one of: {', '.join(ARCHIVES)}.")
    archive, folder = ARCHIVES[name], Path(folder)
    target = folder / archive.folder
    if target.is_dir() and any(target.iterdir()):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return unpack(_fetch(name, archive, folder, base, advance), folder, archive)
    except OSError as error:
        raise DownloadError(
            f"{name} could not be written to {folder}: {error.strerror or error}. "
            "Choose another folder with --to, or make room there."
        ) from None


def _fetch(
    name: str, archive: Archive, folder: Path, base: str, advance: Callable[[int], Any] | None
) -> Path:
    import pooch

    try:
        with _silent(pooch.get_logger()):
            fetched = pooch.retrieve(
                url=f"{base}{name}.zip",
                known_hash=f"sha256:{archive.sha256}",
                fname=f"{name}.zip",
                path=folder,
                downloader=pooch.HTTPDownloader(
                    progressbar=_Bar(archive.size, advance), chunk_size=_BLOCK, timeout=30
                ),
            )
    except OSError as error:
        if not hasattr(error, "response"):  # the disk's fault, not the host's
            raise
        status = getattr(error.response, "status_code", None)
        cause = f"the host answered {status}" if status else "the host cannot be reached"
        raise DownloadError(
            f"{name} could not be fetched from {base}: {cause}. {_by_hand(name, folder)}"
        ) from None
    except ValueError:
        raise DownloadError(
            f"{name}.zip from {base} is not the published file: its SHA-256 differs from "
            f"{archive.sha256}. Nothing was kept. {_by_hand(name, folder)}"
        ) from None
    return Path(fetched)


class _Bar:
    """What pooch asks of a progress bar: received bytes are reported, and too many are refused."""

    def __init__(self, size: int, advance: Callable[[int], Any] | None) -> None:
        self._left = size + _BLOCK
        self._advance = advance
        self.total = 0

    def update(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("more bytes than were published")
        if self._advance is not None:
            self._advance(size)

    def reset(self) -> None:
        """pooch calls it before a last update that brings the whole size once more."""
        self._advance, self._left = None, self.total

    def close(self) -> None:
        """Nothing is left open."""


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """pooch tells what it does on stderr; that is the command line's business."""
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _by_hand(name: str, folder: Path) -> str:
    return (
        f"Fetch {name}.zip by hand from {PAGE}, put it at {folder / f'{name}.zip'} "
        "and run the same command again."
    )


def unpack(path: Path, folder: Path, archive: Archive) -> Path:
    """Unpack a checked archive beside it: only into its own folder, only up to its known size."""
    target = folder / archive.folder
    partial = folder / f".{archive.folder}.part"
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as zipped:
            _unpack_files(zipped, partial, archive, path)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise DownloadError(
            f"{path} cannot be unpacked: {error}. Delete it and run again."
        ) from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)  # in one step: a folder that exists is complete
    return target


def _unpack_files(zipped: zipfile.ZipFile, partial: Path, archive: Archive, path: Path) -> None:
    left = archive.unpacked
    partial.mkdir(parents=True)
    for member in zipped.infolist():
        inside = PurePosixPath(member.filename.replace("\\", "/"))
        if ".." in inside.parts or inside.is_absolute() or ":" in member.filename:
            raise DownloadError(f"{path} holds a file outside its folder, so nothing was unpacked.")
        if member.is_dir() or inside.parts[0] != archive.folder:
            continue  # some archives carry the leavings of a desktop beside their folder
        place = partial.joinpath(*inside.parts[1:])
        place.parent.mkdir(parents=True, exist_ok=True)
        with zipped.open(member) as source, place.open("wb") as out:
            while block := source.read(_BLOCK):  # the sizes in the header are only claims
                left -= len(block)
                if left < 0:
                    raise DownloadError(f"{path} unpacks to far more than was published.")
                out.write(block)
    if not any(partial.iterdir()):
        raise DownloadError(f"{path} holds no folder {archive.folder}.")
