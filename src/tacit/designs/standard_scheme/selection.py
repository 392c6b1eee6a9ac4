"""Selection: which rated items a device shows.

Source      the patent's equation (7), with min in place of the printed max. The chances are
            `theory.keep_probability`, put into the public tables by `training.tables`; here the
            dice are thrown.
Runs at     the person's own device.
Sees        the owner's chances to show an item, from the public tables; dice.
Deviations  no chance is 1 (`disclosure.CAP`): otherwise an item held back would prove what the
            owner's attribute is not.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.designs.standard_scheme.dice import Draw
from tacit.designs.standard_scheme.messages import MICRO


def can_decide(chances: Sequence[int]) -> bool:
    """Tell whether every attribute's table has a chance for an item; if not, a later table may."""
    return all(chances)


def is_shown(chances: Sequence[int], draw: Draw) -> bool:
    """Throw one die for each attribute, all of them whatever the first one shows.

    Args:
        chances: The owner's chance to show the item, by each attribute's table, in parts per
            million.
        draw: Uniform integers below a bound.
    """
    dice = [draw(MICRO) for _ in chances]
    return all(die < chance for die, chance in zip(dice, chances, strict=True))
