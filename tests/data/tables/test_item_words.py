"""The word for one item, by the header of its ids."""

from __future__ import annotations

import pytest

from tacit.data.tables.item_words import word_for_items


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        (["product_id"], "product"),
        (["articleId", "movie"], "article"),
        (["ISBN"], "book"),
        (["Stock Code"], "product"),
        (["item_id", "film"], "film"),
        (["track_id:token"], "song"),
        (["item"], None),
        (["id", "production"], None),
        ([], None),
    ],
)
def test_the_first_known_word_counts(headers: list[str], word: str | None) -> None:
    """By whole words of a header, whatever its spelling; none is guessed."""
    assert word_for_items(headers) == word
