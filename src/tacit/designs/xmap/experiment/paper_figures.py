"""MAE in the paper's figures, on Amazon's books and movies, read from the drawings of its draft.

Curves were read to within 0.0005 stars, the privacy surfaces to within 0.003. The draft's figures
disagree with each other at the same setting (X-Map user-based, books to movies: .500 in the figure
by k and .575 in the one by overlap). So the order of methods and large differences can be compared
with other results, third decimals cannot.
"""

from __future__ import annotations

from typing import NamedTuple


class PrintedErrors(NamedTuple):
    """MAE of one method in one figure of the paper."""

    figure: str
    """What the figure varies, and its values."""
    method: str
    """Name of the method."""
    books_to_movies: str
    """MAE in stars at each of these values, or its range, from books to movies."""
    movies_to_books: str
    """MAE in stars at each of these values, or its range, from movies to books."""


BY_K = "k = 10, 50, 100"
BY_OVERLAP = "overlap .2 to .8"
BY_PROFILE_SIZE = "profile size 0 to 6"
BY_BUDGET = "ε and ε′ up to .8"

# Every number that could be read off the figures
PRINTED_ERRORS = (
    PrintedErrors(BY_K, "NX-Map (item-based)", ".632, .632, .632", ".565, .570, .573"),
    PrintedErrors(BY_K, "NX-Map (user-based)", ".486, .483, .484", ".541, .546, .550"),
    PrintedErrors(BY_K, "X-Map (item-based)", ".674, .670, .662", ".701, .689, .675"),
    PrintedErrors(BY_K, "X-Map (user-based)", ".494, .500, .503", ".682, .672, .651"),
    PrintedErrors(BY_K, "item average", ".693", ".705"),
    PrintedErrors(BY_K, "remote user", ".686, .687, .688", ".687, .689, .689"),
    PrintedErrors(BY_K, "item kNN (both domains)", ".688, .690, .692", ".695"),
    PrintedErrors(BY_OVERLAP, "NX-Map (item-based)", ".596 to .584", ".581 to .540"),
    PrintedErrors(BY_OVERLAP, "NX-Map (user-based)", ".657 to .538", ".482 to .483"),
    PrintedErrors(BY_OVERLAP, "X-Map (item-based)", ".690 to .671", ".683 to .632"),
    PrintedErrors(BY_OVERLAP, "X-Map (user-based)", ".688 to .575", ".526 to .496"),
    PrintedErrors(BY_OVERLAP, "item average", ".699 to .691", ".703 to .695"),
    PrintedErrors(BY_OVERLAP, "remote user", ".688 to .657", ".673 to .666"),
    PrintedErrors(BY_OVERLAP, "item kNN (both domains)", ".675 to .661", ".692 to .675"),
    PrintedErrors(BY_PROFILE_SIZE, "NX-Map (item-based)", ".574 to .435", ".574 to .435"),
    PrintedErrors(BY_PROFILE_SIZE, "NX-Map (user-based)", ".641 to .614", ".603 to .589"),
    PrintedErrors(BY_PROFILE_SIZE, "X-Map (item-based)", ".669 to .653", ".694 to .665"),
    PrintedErrors(BY_PROFILE_SIZE, "X-Map (user-based)", ".665 to .651", ".629 to .611"),
    PrintedErrors(BY_PROFILE_SIZE, "item kNN (both domains)", ".696 to .691", ".703 to .687"),
    PrintedErrors(BY_PROFILE_SIZE, "item kNN (target only)", ".718 to .692", ".723 to .696"),
    PrintedErrors(BY_BUDGET, "X-Map (item-based)", ".667 to .654", ".70 to .645"),
    PrintedErrors(BY_BUDGET, "X-Map (user-based)", "within .51 to .53", ".556 to .532"),
)
