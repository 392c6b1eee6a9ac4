"""Selection: which rated items a device shows.

Source      the patent's equation (7), with min in place of the printed max. The chances are those
            of `theory.keep_probability`; `training.tables` puts them into the public tables. Here
            the device draws by them.
Runs at     the person's own device.
Sees        the owner's chances to show an item, from the public tables; random draws.
Deviations  no chance of the sound variant is 1 (`disclosure.CAP`): if a value had chance 1, an item
            that is held back would prove that the owner does not have this value.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.designs.standard_scheme.dice import Draw
from tacit.designs.standard_scheme.messages import MICRO


def can_decide(chances: Sequence[int]) -> bool:
    """Say whether an item can be decided: every attribute's table has a chance above 0 to show it.

    An item that cannot be decided stays undecided; the tables of a later disclosure may decide it.
    """
    return all(chances)


def is_shown(chances: Sequence[int], draw: Draw) -> bool:
    """Draw whether a rated item is shown: it is if the draws of all attributes say so.

    There is always one draw for each attribute, even if the first one holds the item back, so that
    later draws do not depend on it.

    Args:
        chances: The owner's chance to show the item, by each attribute's table, in parts per
            million.
        draw: Uniform integers below a bound.
    """
    draws = [draw(MICRO) for _ in chances]
    return all(drawn < chance for drawn, chance in zip(draws, chances, strict=True))
