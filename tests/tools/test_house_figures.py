"""tools/house.py counts what it says."""

from __future__ import annotations

import house

TEXT = '''
def one():
    """A docstring
    of two lines."""
    # why
    a = 1

    return a


class Two:
    async def three(self): return [
        4,
    ]
'''


def test_lines_of_logic():
    """Docstrings, comments and blank lines are left out; methods are functions."""
    assert list(house.lengths(TEXT)) == [2, 3]


def test_a_walk_counts_files_of_the_package_once():
    """What runs before `begin` and what is no part of the package does not count."""
    from tacit.privacy import refuted_first
    from tacit.randomness import secure

    with house.Walk() as walk:
        secure()
        walk.begin()
        refuted_first(())
        refuted_first(())
        list(house.lengths(TEXT))
    assert walk.crossed() == 1


def test_every_goal_has_a_figure(monkeypatch):
    """A goal without a figure would never be missed."""
    monkeypatch.setattr(house, "fit_xmap", lambda _: 1)
    monkeypatch.setattr(house, "visit", lambda _: 1)
    monkeypatch.setattr(house, "contracts", lambda: {"contracts_kept": 1, "contracts_broken": 1})
    found = house.figures()
    assert set(found["met"]) == set(house.GOALS)
    assert not found["met"]["contracts_broken"]
