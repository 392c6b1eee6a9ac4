"""Texts of cells that describe a person or an item, whatever the type of their column.

One missing or decimal cell turns a typed column of whole numbers into floats. A text must not
change by that: it would rename the values of everybody else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.data.tables.whole_numbers import write_number


def text_of_cell(cell: Any) -> str | None:
    """Write a cell as text without blanks around it; None if it is missing or empty.

    A float that is a whole number is written as an integer, so 1.0 is "1". NaN is missing.
    """
    if cell is None:
        return None
    if isinstance(cell, float | np.floating) and math.isnan(cell):
        return None
    return write_number(cell).strip() or None
