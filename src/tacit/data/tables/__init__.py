"""A table, and which of its columns holds what: well-known headers, or the name the caller gives.

Headers compare without case, accents, blanks and signs, and a type suffix as in `user_id:token` or
`rating:float` is ignored: `Customer ID`, `customerId` and `customer_id` are one.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

Role = Literal["user", "item", "rating", "plays", "time", "domain"]

KNOWN_HEADERS: dict[Role, tuple[str, ...]] = {
    "user": ("user_id", "userid", "user", "uid"),
    "item": ("item_id", "itemid", "item", "movie_id", "movieid", "movie", "iid"),
    "rating": ("rating", "stars", "score"),
    "plays": ("plays", "play_count", "playcount", "listens", "count", "quantity"),
    "time": ("timestamp", "time", "ts"),
    "domain": (),  # read only where it is asked for
}
MORE_HEADERS: dict[Role, str] = {
    "user": "customer_id customer customer_no client_id client member_id member visitor_id "
    "visitor reviewer_id reviewer account_id account buyer_id buyer person_id person "
    "reader_id viewer_id listener_id shopper_id subscriber_id profile_id user_name "
    "user_key msno author_id session_id kunde kunden_id kunden_nr kundennummer benutzer "
    "benutzer_id nutzer nutzer_id nutzername utilisateur id_utilisateur client_no usuario "
    "id_usuario cliente id_cliente utente id_utente gebruiker gebruikers_id klant "
    "klant_id uzytkownik klient kayttaja anvandare kund_id bruker",
    "item": "vid product_id product sku asin article_id article film_id film book_id book isbn "
    "track_id track song_id song artist_id artist album_id video_id show_id title_id "
    "anime_id game_id app_id business_id recipe_id news_id beer_id item_no stock_code "
    "listing_id content_id document_id parent_asin place_id course_id artikel artikel_id "
    "artikel_nr artikelnummer produkt produkt_id produkt_nr buch film_nr ware produit "
    "id_produit livre producto id_producto articulo libro pelicula prodotto id_prodotto "
    "articolo boek produkt_kod tuote item_name product_name",
    "rating": "overall rate user_rating review_score star_rating book_rating review_rating "
    "bewertung sterne punkte wertung note evaluation notation calificacion puntuacion "
    "valoracion voto valutazione punteggio waardering beoordeling cijfer ocena arvosana "
    "betyg rating_value value",
    "plays": "liked like is_liked "
    "play_cnt listen_count watch_count view_count views clicks hits qty units num_plays "
    "frequency anzahl menge quantite nombre cantidad quantita aantal ilosc weight",
    "time": "created_at created date datetime date_time updated_at event_time when review_time "
    "unix_review_time unix_time review_date rating_date order_date invoice_date "
    "purchase_date purchased_at rated_at timestamp_ms epoch tstamp datum zeit zeitpunkt "
    "zeitstempel uhrzeit bestelldatum kaufdatum heure fecha hora data ora tijd tijdstip "
    "data_zakupu day at on",
    "domain": "",
}
"""Names in use elsewhere, in several languages; believed only where the content fits."""

_WIDE = 8  # columns of a table that may have one for each item
_OF_IDS = {"id", "no", "nr", "num", "number", "key", "code", "hash", "uuid"}


def plain(header: str) -> str:
    """A header in lower case, without blanks and without its type suffix."""
    return header.strip().lower().split(":")[0]


def squeezed(header: str) -> str:
    """A header as it is compared: no accents and no signs either."""
    bare = unicodedata.normalize("NFKD", plain(header))
    return re.sub(r"[^a-z0-9]", "", bare) or plain(header)


def names_of(role: Role, *, more: bool = False) -> list[str]:
    """The headers of a role, as they are compared."""
    names = [*KNOWN_HEADERS[role], *(MORE_HEADERS[role].split() if more else ())]
    return list(dict.fromkeys(map(squeezed, names)))


ALL_NAMES = {name for role in KNOWN_HEADERS for name in names_of(role, more=True)}


def named(role: Role, header: str) -> bool:
    """Whether a header is a name of the role, or made of such names, such as `product_sku`."""
    known = {*names_of(role, more=True)}
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", header.strip().split(":")[0])
    parts = {squeezed(word) for word in words}
    return squeezed(header) in known or (bool(parts & known) and parts - known <= _OF_IDS)


def find(role: Role, headers: Sequence[str], asked: str | None) -> int | None:
    """Position of a role's column: the one asked for, else the first well-known one, else None."""
    if asked is None:
        wanted, written = names_of(role), [squeezed(header) for header in headers]
    elif asked in headers:
        return [*headers].index(asked)
    else:
        wanted, written = [asked.strip().lower()], [header.strip().lower() for header in headers]
    return next((written.index(name) for name in wanted if name in written), None)


def choose(role: Role, headers: Sequence[str], asked: str | None, path: object) -> int:
    """Like `find`, but the column must be there."""
    position = find(role, headers, asked)
    if position is None:
        raise missing(role, headers, asked, path)
    return position


def missing(role: Role, headers: Sequence[str], asked: str | None, path: object) -> DataError:
    """What to say where a role has no column."""
    option = "domain-column" if role == "domain" else role
    fix = f"Name it with --{option} (from Python: {role}=...)."
    if role == "item" and asked is None and len(headers) >= _WIDE:
        fix += (
            " If each item has a column of its own, write one row a rating first, such as with"
            " DataFrame.melt of pandas."
        )
    found, known = ", ".join(headers), ", ".join(KNOWN_HEADERS[role])
    expected = f"a column '{asked}'" if asked else f"one of {known}"
    return DataError(f"no {role} column", path=path, found=found, expected=expected, fix=fix)


_from_one = partial(itertools.count, 1)


@dataclass(frozen=True, eq=False)
class Table:
    """path    where it is from, None if from memory
    frame   whole rows; of text all columns are strings, stripped, null where empty
    lines   of each row: the line of a text file, or else the record from 1
    torn    what is wrong with each row that is not in `frame`, without its path
    header  whether its columns have names of their own
    """

    path: object
    frame: pl.DataFrame
    lines: Callable[[], Iterable[int]] = _from_one
    torn: tuple[DataError, ...] = ()
    text: bool = False
    header: bool = True

    def line(self, row: int) -> int:
        """Of a row numbered from 0."""
        return next(itertools.islice(self.lines(), row, None))

    def whole(self) -> Table:
        """This table; DataError if a row is torn."""
        for error in self.torn:
            raise error.with_place(path=self.path)
        return self

    @property
    def headers(self) -> list[str]:
        return self.frame.columns
