"""What attackers read of public knowledge: each fact is a column of a person's summaries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.auditing.attacks import PublicKnowledge, Releases
from tacit.auditing.attacks.features import space_of

STARS = np.array([[5.0, 1.0, 0.0, 2.0], [0.0, 4.0, 3.0, 0.0], [2.0, 0.0, 5.0, 4.0]])
SHOWN = STARS > 0
COUNTS = SHOWN.sum(axis=1)
PSEUDO_RATINGS = 5
"""Ratings of the overall mean that are added to those of each item."""
ITEM_MEANS = (STARS.sum(axis=0) + PSEUDO_RATINGS * STARS[SHOWN].mean()) / (
    SHOWN.sum(axis=0) + PSEUDO_RATINGS
)
ERRORS = np.where(SHOWN, STARS - ITEM_MEANS, 0.0)
"""Stars less the item's mean."""
TABLE = np.array([0, 1, 0])
"""The public table that made each person's release."""
PUBLIC = PublicKnowledge(
    popularity=np.array([7.0, 20.0, 1.0, 3.0]),
    offsets=np.array([[0.5, -0.25, 0.125, 1.0], [-1.0, 2.0, 0.75, 0.25]]),
    log_keep=np.array([[0.1, 0.3, -0.2, 0.7], [0.6, -0.4, 0.9, -0.1]]),
    genres=np.array([[1.0], [0.0], [1.0], [1.0]]),
    years=np.array([1990.0, 1994.0, np.nan, 1999.0]),
)
MIDDLE_YEAR = (1990 + 1994 + 1999) / 3


def columns_of_summaries():
    """Summaries of the three people, learned on themselves, a row for each feature."""
    seen = Releases(sparse.csr_array(STARS), PUBLIC, TABLE)
    return list(space_of(seen).blocks(seen).summaries().T)


def mean_of_shown(values):
    """(people,) mean of a value over the items that a person shows."""
    return np.where(SHOWN, values, 0.0).sum(axis=1) / COUNTS


OFFSETS = PUBLIC.offsets[TABLE]
LOG_KEEP = PUBLIC.log_keep[TABLE]
GENRE = PUBLIC.genres[:, 0]
YEARS = np.nan_to_num(PUBLIC.years - MIDDLE_YEAR)
YEARS_KNOWN = (SHOWN & np.isfinite(PUBLIC.years)).sum(axis=1)
MEAN_YEAR = (SHOWN * YEARS).sum(axis=1) / YEARS_KNOWN
IN_GENRE = (SHOWN * GENRE).sum(axis=1)
FACTS = {
    "number of shown items": np.log1p(COUNTS),
    "stars": mean_of_shown(STARS),
    "errors": mean_of_shown(ERRORS),
    "squared errors": mean_of_shown(ERRORS**2),
    "offsets": mean_of_shown(OFFSETS),
    "errors along offsets": mean_of_shown(ERRORS * OFFSETS),
    "offsets beside their mean's error": mean_of_shown(OFFSETS) * np.sqrt(COUNTS),
    "errors along offsets beside their mean's error": (
        mean_of_shown(ERRORS * OFFSETS) * np.sqrt(COUNTS)
    ),
    "log_keep": mean_of_shown(LOG_KEEP),
    "errors along log_keep": mean_of_shown(ERRORS * LOG_KEEP),
    "share of a genre": IN_GENRE / COUNTS,
    "errors in a genre": (ERRORS * GENRE).sum(axis=1) / (IN_GENRE + 1),
    "least popularity but one tenth": np.log1p([3.0, 1.0, 1.0]),
    "years": MEAN_YEAR,
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_is_a_column(fact):
    """Computed by hand for three people whom two public tables made."""
    columns = columns_of_summaries()
    assert any(column == pytest.approx(FACTS[fact]) for column in columns)


def test_the_facts_differ():
    """No fact is another's column, and none is the same for all people."""
    for name, values in FACTS.items():
        assert np.ptp(values) > 0, name
        others = [other for fact, other in FACTS.items() if fact != name]
        assert not any(values == pytest.approx(other) for other in others), name
