"""Official MovieLens archives: fetched once, checked by SHA-256, then unpacked.

Source of the checksums   the table of TensorFlow Datasets (url_checksums/movielens.txt) for 100K,
1M, 20M, 25M and latest-small; the loaders of OmniRec (10M) and of discorec (32M), each found again
with the archive's size in several unrelated projects. GroupLens itself publishes only MD5.
"""

from __future__ import annotations

import logging
import shutil
import zipfile
from pathlib import Path

from tacit.errors import ConfigError, DownloadError

PAGE = "https://grouplens.org/datasets/movielens/"
BASE = "https://files.grouplens.org/datasets/movielens/"
LICENCE = "Read the README in the folder: MovieLens data may not be sold or passed on freely."
ARCHIVES = {
    "ml-100k": "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
    "ml-1m": "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    "ml-10m": "813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
    "ml-20m": "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    "ml-25m": "8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa",
    "ml-32m": "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    "ml-latest-small": "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
}
"""SHA-256 of each zip file."""


def get(name: str, folder: str | Path, *, base: str = BASE) -> Path:
    """Fetch `name` (a key of `ARCHIVES`) into `folder` and return the folder with its files.

    A zip file already lying in `folder` is used if its SHA-256 is right, so an archive fetched by
    hand works; data already unpacked there is returned at once.
    """
    if name not in ARCHIVES:
        raise ConfigError(f"No data set '{name}' is offered. Choose one of: {', '.join(ARCHIVES)}.")
    folder = Path(folder)
    target = folder / ("ml-10M100K" if name == "ml-10m" else name)
    if target.is_dir() and any(target.iterdir()):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _unpack(_fetch(name, folder, base), target)
    except OSError as error:
        raise DownloadError(
            f"{name} could not be written to {folder}: {error.strerror or error}. "
            "Choose another folder with --to, or make room there."
        ) from None
    return target


def _fetch(name: str, folder: Path, base: str) -> Path:
    import pooch

    pooch.get_logger().setLevel(logging.ERROR)  # what is done is the command line's to say
    by_hand = (
        f"Fetch {name}.zip by hand from {PAGE}, put it at {folder / f'{name}.zip'} "
        "and run the same command again."
    )
    try:
        fetched = pooch.retrieve(
            url=f"{base}{name}.zip",
            known_hash=f"sha256:{ARCHIVES[name]}",
            fname=f"{name}.zip",
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=30),
        )
    except OSError as error:
        if not hasattr(error, "response"):  # the disk's fault, not the host's
            raise
        status = getattr(error.response, "status_code", None)
        cause = f"the host answered {status}" if status else "the host cannot be reached"
        raise DownloadError(
            f"{name} could not be fetched from {base}: {cause}. {by_hand}"
        ) from None
    except ValueError:
        raise DownloadError(
            f"{name}.zip from {base} is not the published file: its SHA-256 differs from "
            f"{ARCHIVES[name]}. Nothing was kept. {by_hand}"
        ) from None
    return Path(fetched)


def _unpack(path: Path, target: Path) -> None:
    """Unpack a checked archive; in one step, so that a folder that exists is complete."""
    partial = target.with_name(f".{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as zipped:
            # some archives carry the leavings of a desktop beside their folder
            own = [each for each in zipped.namelist() if each.startswith(f"{target.name}/")]
            zipped.extractall(partial, own)
        shutil.rmtree(target, ignore_errors=True)
        (partial / target.name).rename(target)
    except (zipfile.BadZipFile, FileNotFoundError) as error:
        raise DownloadError(
            f"{path} cannot be unpacked: {error}. Delete it and run again."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
