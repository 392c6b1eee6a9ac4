"""Parts of other packages, found by their entry points.

tacit.designs     a `tacit.design.Design`
tacit.attackers   makes a `tacit.auditing.attacks.Attacker`; called without arguments
tacit.metrics     a metric of lists, called as METRIC(lists, relevant, train)
tacit.datasets    makes `tacit.Ratings`; called without arguments, named in place of a file

`tacit.testing` has a conformance suite for each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tacit.errors import ConfigError

DESIGNS = "tacit.designs"
ATTACKERS = "tacit.attackers"
METRICS = "tacit.metrics"
DATASETS = "tacit.datasets"


def find_entry_points(group: str, reserved: Collection[str] = ()) -> dict[str, EntryPoint]:
    """Find the parts of a group that other packages register.

    Args:
        group: One of the groups above.
        reserved: Names that tacit itself uses.

    Returns:
        By name, its entry point.

    Raises:
        ConfigError: A name is registered twice, or is reserved.
    """
    named: dict[str, EntryPoint] = {}
    for entry in _read_entry_points(entry_points, group, tuple(sys.path)):
        is_twice = entry.name in named and named[entry.name].value != entry.value
        if entry.name in reserved or is_twice:
            raise ConfigError(
                f"The package of '{entry.value}' registers '{entry.name}' in {group}, a name that "
                "is taken: rename its entry point."
            )
        named[entry.name] = entry
    return named


@cache
def _read_entry_points(
    read: Callable[..., Any], group: str, folders: tuple[str, ...]
) -> tuple[EntryPoint, ...]:
    """Read the entry points of every installed package, once for each search path.

    A comparison asks for each figure, and reading takes as long as many of them.
    """
    del folders
    return tuple(read(group=group))
