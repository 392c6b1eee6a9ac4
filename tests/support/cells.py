"""One cell of the table of attacks."""

from __future__ import annotations


def cell_of(table, release, attack, trained_on, view="union"):
    wanted = (release, view, attack, trained_on)
    return next(r for r in table.rows if (r.release, r.view, r.attack, r.trained_on) == wanted)
