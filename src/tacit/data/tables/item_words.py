"""The word for an item, such as "book", found in the headers of columns of item ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tacit.data.tables.names import is_compound_of

_WORDS = {
    "product": ("product", "products", "produkt", "producto", "produit", "prodotto", "artikel"),
    "article": ("article", "articles", "news", "story"),
    "film": ("film", "films"),
    "movie": ("movie", "movies"),
    "book": ("book", "books", "isbn", "buch", "livre", "libro"),
    "song": ("song", "songs", "track", "tracks"),
    "album": ("album", "albums"),
    "artist": ("artist", "artists"),
    "game": ("game", "games"),
    "recipe": ("recipe", "recipes", "rezept"),
    "course": ("course", "courses"),
    "video": ("video", "videos"),
    "hotel": ("hotel", "hotels"),
    "restaurant": ("restaurant", "restaurants"),
    "podcast": ("podcast", "podcasts"),
    "job": ("job", "jobs"),
    "event": ("event", "events"),
}
"""Word for an item to the names for it in headers, in several languages."""
_WORD_OF: dict[str, str] = {}
for _word, _names in _WORDS.items():
    _WORD_OF |= dict.fromkeys(_names, _word)
"""Name in a header to the word for an item."""
_DELIMITER = re.compile(r"[,;\t|]")
"""Signs between two headers."""
_LONGEST_HEADER = 10_000
"""Largest number of characters of a file's first line that are read."""
_HEADER_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
"""The pattern of the words of a header such as productId or ISBN."""
_PRODUCT_CODES = ("sku", "asin", "ean", "gtin", "stockcode")
"""Headers of product codes, without blanks and underscores: their items are products."""


def headers_of_item_ids(path: Path) -> list[str]:
    """List the headers in a file's first line that name item ids.

    Returns:
        The headers; [] if the file does not end in .csv, .tsv or .txt, or is no text in UTF-8.
    """
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return []
    try:
        with path.open(encoding="utf-8-sig") as file:
            first_line = file.readline(_LONGEST_HEADER)
    except (OSError, UnicodeDecodeError):
        return []
    headers = [header.strip(" \"'\r\n") for header in _DELIMITER.split(first_line)]
    return [header for header in headers if is_compound_of("item", header)]


def word_for_items(headers: Iterable[str]) -> str | None:
    """Find the word for one item in headers; None if no header has a known word.

    Args:
        headers: Headers of columns of item ids, such as `product_id`, `articleId` or `ISBN`. The
            first one with a known word decides.
    """
    for header in headers:
        plain = unicodedata.normalize("NFKD", header.strip().split(":")[0])
        if plain.lower().replace("_", "").replace(" ", "") in _PRODUCT_CODES:
            return "product"
        for part in _HEADER_PARTS.findall(plain):
            word = _WORD_OF.get(part.lower())
            if word is not None:
                return word
    return None
