"""One design imports another in one written place, and nowhere else."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from pathlib import Path

import pytest
from grimp import build_graph
from importlinter.contracts.independence import IndependenceContract

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def graph():
    return build_graph("tacit", cache_dir=None)


def kept(graph, **planted):
    """Whether the contract of pyproject.toml holds with one more import."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (written,) = [one for one in linter["contracts"] if one["type"] == "independence"]
    options = {name: written[name] for name in ("modules", "ignore_imports")}
    changed = deepcopy(graph)
    if planted:
        changed.add_import(**planted)
    contract = IndependenceContract(written["name"], {"root_packages": ["tacit"]}, options)
    return contract.check(changed, verbose=False).kept


def test_the_sound_variant_is_the_one_exception(graph):
    """As written, designs are independent."""
    assert kept(graph)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("tacit.designs.xmap.model", "tacit.designs.private"),
        ("tacit.designs.xmap.settings", "tacit.designs.private.fitting"),
        ("tacit.designs.private.model", "tacit.designs.xmap"),
        ("tacit.designs.prec", "tacit.designs.private"),
    ],
)
def test_any_other_import_is_refused(graph, importer, imported):
    """Planted beside the exception, another import breaks the contract."""
    assert not kept(graph, importer=importer, imported=imported)
