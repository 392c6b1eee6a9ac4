"""The word for one item, by the header that its ids stand under."""

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
_WORD_OF: dict[str, str] = {}
for _word, _names in _WORDS.items():
    _WORD_OF |= dict.fromkeys(_names, _word)
_SIGNS = re.compile(r"[,;\t|]")
_LONGEST_HEADER = 10_000
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SKU = ("sku", "asin", "ean", "gtin", "stockcode")


def headers_of_item_ids(path: Path) -> list[str]:
    """Read the headers of a text table that ids of items stand under; none of another file."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return []
    try:
        with path.open(encoding="utf-8-sig") as file:
            first_line = file.readline(_LONGEST_HEADER)
    except (OSError, UnicodeDecodeError):
        return []
    headers = [header.strip(" \"'\r\n") for header in _SIGNS.split(first_line)]
    return [header for header in headers if is_compound_of("item", header)]


def word_for_items(headers: Iterable[str]) -> str | None:
    """Return the word that headers of ids have for one item; None where none has a known word.

    Args:
        headers: Of the columns of ids, the catalogue's first: `product_id`, `articleId`, `ISBN`.
    """
    for header in headers:
        plain = unicodedata.normalize("NFKD", header.strip().split(":")[0])
        if plain.lower().replace("_", "").replace(" ", "") in _SKU:
            return "product"
        for part in _PARTS.findall(plain):
            word = _WORD_OF.get(part.lower())
            if word is not None:
                return word
    return None
