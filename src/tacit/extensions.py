"""Extensions of tacit in other packages, found by their entry points.

Group             What the entry point names
tacit.designs     a `tacit.design.Design`
tacit.attackers   a function without arguments that returns a `tacit.auditing.attacks.Attacker`
tacit.metrics     a metric of lists, called as METRIC(lists, relevant, train)
tacit.datasets    a function without arguments that returns `tacit.Ratings`; commands take its name
                  in place of a file

`tacit.testing` has a conformance suite for each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# The groups, as listed above.
DESIGNS = "tacit.designs"
ATTACKERS = "tacit.attackers"
METRICS = "tacit.metrics"
DATASETS = "tacit.datasets"

_METADATA_FOLDER_ENDINGS = (".dist-info", "egg-info")
"""Endings of the folders that describe installed packages."""


def entry_points(*, group: str) -> Collection[EntryPoint]:
    """Read the entry points of a group from the installed packages.

    The standard library's reader is imported only if a package may have such an entry point,
    because the help of some commands would wait for it.
    """
    if not _may_be_registered(group):
        return ()
    from importlib import metadata

    return metadata.entry_points(group=group)


def _may_be_registered(group: str) -> bool:
    """Say whether an installed package may have entry points of a group.

    The group's name is looked for in the files in which packages register their entry points. The
    answer is also yes where packages are not in folders, because only the standard library's reader
    can look there.
    """
    other_finders = [finder for finder in sys.meta_path if finder is not PathFinder]
    if any(hasattr(finder, "find_distributions") for finder in other_finders):
        return True
    for place in map(Path, sys.path):
        try:
            if place.is_file():  # an archive, which is not searched here
                return True
            entries = list(place.iterdir())
        except OSError:  # the standard library's reader also passes over such a place
            continue
        for folder in entries:
            if not folder.name.lower().endswith(_METADATA_FOLDER_ENDINGS):
                continue
            try:
                if group.encode() in (folder / "entry_points.txt").read_bytes():
                    return True
            except OSError:  # a package without entry points
                continue
    return False


def find_entry_points(group: str, reserved: Collection[str] = ()) -> dict[str, EntryPoint]:
    """Find the extensions of a group that other packages register.

    Args:
        group: One of the groups in this module's description.
        reserved: Names that tacit itself uses.

    Returns:
        The entry points by name.

    Raises:
        ConfigError: A name is registered for two different objects, or is reserved.
    """
    by_name: dict[str, EntryPoint] = {}
    for entry in _read_entry_points(entry_points, group, tuple(sys.path)):
        is_conflict = entry.name in by_name and by_name[entry.name].value != entry.value
        if entry.name in reserved or is_conflict:
            raise ConfigError(
                f"The package of '{entry.value}' registers '{entry.name}' in {group}, a name that "
                "is taken: rename its entry point."
            )
        by_name[entry.name] = entry
    return by_name


@cache
def _read_entry_points(
    read: Callable[..., Any], group: str, folders: tuple[str, ...]
) -> tuple[EntryPoint, ...]:
    """Read the entry points of a group from every installed package, once for each search path.

    The result is cached because a comparison asks for it once for each metric that it computes,
    and reading takes longer than computing many of them.

    Args:
        read: `entry_points`, or a function that a test put in its place.
        group: One of the groups in this module's description.
        folders: The search path, `sys.path`. It only makes the cached result depend on the path.
    """
    del folders
    return tuple(read(group=group))
