"""Parts of other packages, found by their entry points.

tacit.designs     a `tacit.design.Design`
tacit.attackers   makes a `tacit.auditing.attacks.Attacker`; called without arguments
tacit.metrics     a metric of lists, called as METRIC(lists, relevant, train)
tacit.datasets    makes `tacit.Ratings`; called without arguments, named in place of a file

`tacit.testing` has a conformance suite for each.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points

from tacit.errors import ConfigError

DESIGNS = "tacit.designs"
ATTACKERS = "tacit.attackers"
METRICS = "tacit.metrics"
DATASETS = "tacit.datasets"


def installed(group: str, taken: Collection[str] = ()) -> dict[str, EntryPoint]:
    """Name to entry point; ConfigError where a name is registered twice, or is one of `taken`."""
    named: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        if entry.name in taken or (entry.name in named and named[entry.name].value != entry.value):
            raise ConfigError(
                f"The package of '{entry.value}' registers '{entry.name}' in {group}, a name that "
                "is taken: rename its entry point."
            )
        named[entry.name] = entry
    return named
