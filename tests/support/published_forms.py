"""Published forms of data sets, each written from the same drawn ratings, and what an import gives.

All people, items and rows are drawn by a seed; no row is of a data set. The page "Data sets" is
made of this list by `tools/data_sets_page.py`.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime

PEOPLE, ITEMS = 40, 30
Row = tuple[int, int, int, int]


def draw_rows(seed: int = 1) -> list[Row]:
    """480 rows (person, item, stars, seconds), each pair once."""
    generator = random.Random(seed)  # noqa: S311
    pairs = [(person, item) for person in range(1, PEOPLE + 1) for item in range(1, ITEMS + 1)]
    rows = []
    for number, (person, item) in enumerate(generator.sample(pairs, 480)):
        stars = generator.choice([1, 2, 3, 3, 4, 4, 5])
        rows.append((person, item, stars, 978_300_000 + 977 * number))
    return rows


ROWS = draw_rows()
LIKES = sum(stars >= 4 for _, _, stars, _ in ROWS)


@dataclass(frozen=True)
class PublishedForm:
    """One data set as it is published, and the command that reads it."""

    name: str
    """Name of the data set."""
    shape: str
    """Its form, in a few words."""
    files: dict[str, str]
    """File name to text."""
    words: tuple[str, ...] = ()
    """Options after the names of the files."""
    named: tuple[str, ...] = ()
    """Names that the command has; all files where none are given."""
    kept: int = 480
    """Ratings or events that are kept."""
    likes: int = LIKES
    """Ratings that are likes."""
    scale: str | None = "1:5:1"
    """Scale of the stars; None for events."""
    titles: int = 0
    """Items with public titles."""
    refused: str = ""
    """Words of the refusal, where nothing is read."""
    why: str = field(default="")
    """Sentence for the page."""

    @property
    def command(self) -> list[str]:
        """Words of the command after `tacit data import`."""
        return [*(self.named or self.files), *self.words]


def _text(lines: list[str], header: str = "") -> str:
    return "\n".join([header, *lines] if header else lines) + "\n"


def _rows(form: str, header: str = "") -> str:
    """Write all rows in a form of str.format with user, item, stars, seconds."""
    lines = []
    for user, item, stars, moment in ROWS:
        when = datetime.fromtimestamp(moment, UTC)
        lines.append(form.format(user=user, item=item, stars=stars, seconds=moment, when=when))
    return _text(lines, header)


def _titles(form: str, header: str = "") -> str:
    lines = [form.format(item=item) for item in range(1, ITEMS + 1)]
    return _text(lines, header)


def _netflix() -> str:
    lines = []
    for wanted in range(1, ITEMS + 1):
        lines.append(f"{wanted}:")
        lines += [f"{user},{stars},2005-09-06" for user, item, stars, _ in ROWS if item == wanted]
    return _text(lines)


def _books() -> tuple[str, int, int]:
    """Stars of 1 to 10 in three of five rows, 0 in the others: text, rows with stars, likes."""
    lines = []
    likes = 0
    for number, (user, item, stars, _) in enumerate(ROWS):
        given = 2 * stars if number % 5 < 3 else 0
        likes += given >= 8
        lines.append(f'"{user}";"{item:010d}";"{given}"')
    with_stars = sum(not line.endswith(';"0"') for line in lines)
    return _text(lines, '"User-ID";"ISBN";"Book-Rating"'), with_stars, likes


def _sessions() -> str:
    lines = []
    for person in range(1, PEOPLE + 1):
        own = [{"aid": item, "ts": at, "type": "clicks"} for u, item, _, at in ROWS if u == person]
        lines.append(json.dumps({"session": person, "events": own}))
    return _text(lines)


def _lists() -> str:
    lines = []
    for person in range(1, PEOPLE + 1):
        own = [str(item) for user, item, _, _ in ROWS if user == person]
        lines.append(" ".join([str(len(own)), *own]))
    return _text(lines)


def _impressions() -> str:
    lines = []
    for person in range(1, PEOPLE + 1):
        shown = [f"N{item}-{int(stars >= 4)}" for user, item, stars, _ in ROWS if user == person]
        history = "N1 N2 N3"
        lines.append(f"{person}00\tU{person}\t11/13/2019 8:36:57 AM\t{history}\t{' '.join(shown)}")
    return _text(lines)


def _jokes() -> str:
    lines = []
    for person in range(1, PEOPLE + 1):
        own = {item: stars for user, item, stars, _ in ROWS if user == person}
        cells = [str(own.get(item, 99)) for item in range(1, ITEMS + 1)]
        lines.append(",".join([str(len(own)), *cells]))
    return _text(lines)


def _kinds(form: str, header: str = "") -> str:
    kinds = ("view", "view", "view", "addtocart", "transaction")
    lines = []
    for number, (user, item, _, moment) in enumerate(ROWS):
        kind = kinds[number % len(kinds)]
        lines.append(form.format(user=user, item=item, seconds=moment, kind=kind))
    return _text(lines, header)


_BOOKS, _WITH_STARS, _BOOK_LIKES = _books()
_MOVIES = _titles("{item},Film {item} (1999),Drama|Comedy", "movieId,title,genres")
_RATINGS_25M = _rows("{user},{item},{stars}.0,{seconds}", "userId,movieId,rating,timestamp")

FORMS = (
    PublishedForm(
        "MovieLens 25M, 32M, latest",
        "the folder: ratings.csv, movies.csv, others",
        {
            "ml/ratings.csv": _RATINGS_25M,
            "ml/movies.csv": _MOVIES,
            "ml/tags.csv": _rows("{user},{item},word,{seconds}", "userId,movieId,tag,timestamp"),
        },
        named=("ml",),
        scale="0.5:5:0.5",
        titles=ITEMS,
    ),
    PublishedForm(
        "MovieLens 1M, 10M",
        "the folder: ratings.dat, movies.dat, users.dat, with `::`",
        {
            "ml/ratings.dat": _rows("{user}::{item}::{stars}::{seconds}"),
            "ml/movies.dat": _titles("{item}::Film {item} (1999)::Drama"),
            "ml/users.dat": _text([f"{n}::F::25::4::10000" for n in range(1, PEOPLE + 1)]),
        },
        named=("ml",),
        titles=ITEMS,
    ),
    PublishedForm(
        "MovieLens 100K",
        "the folder: u.data",
        {"ml/u.data": _rows("{user}\t{item}\t{stars}\t{seconds}")},
        named=("ml",),
    ),
    PublishedForm(
        "Amazon reviews, ratings only",
        "item, user, rating, time; no header",
        {"ratings_only.csv": _rows("B{item:05d},A{user},{stars}.0,{seconds}")},
        words=("--user", "2", "--item", "1"),
        why="Items come first: without the two flags they would be the people.",
    ),
    PublishedForm(
        "Amazon reviews 2023",
        "rating, title of the review, parent_asin, user_id, time in milliseconds",
        {
            "reviews.csv": _rows(
                "{stars}.0,words {user},B{item:05d},P{item:05d},A{user},{seconds}000",
                "rating,title,asin,parent_asin,user_id,timestamp",
            )
        },
        why="Titles of reviews are words of people, and no titles of items.",
    ),
    PublishedForm(
        "Yelp reviews",
        "JSON lines",
        {
            "review.json": _text(
                [
                    json.dumps(
                        {
                            "review_id": f"r{number}",
                            "user_id": f"u{user}",
                            "business_id": f"b{item}",
                            "stars": float(stars),
                            "useful": number % 3,
                            "date": "2019-03-04 05:06:07",
                        }
                    )
                    for number, (user, item, stars, _) in enumerate(ROWS)
                ]
            )
        },
    ),
    PublishedForm(
        "Book-Crossing",
        "semicolons, quotes; a rating of 0 means none",
        {"BX-Book-Ratings.csv": _BOOKS},
        words=("--scale", "1:10:1", "--on-bad", "drop"),
        kept=_WITH_STARS,
        likes=_BOOK_LIKES,
        scale="1:10:1",
        why="Without --scale the import asks what the zeros mean.",
    ),
    PublishedForm(
        "Netflix Prize",
        "blocks: a line `7:`, then person, stars, date",
        {"combined_data_1.txt": _netflix()},
    ),
    PublishedForm(
        "Epinions",
        "person, item, stars with blanks; no header",
        {"ratings_data.txt": _rows("{user} {item} {stars}")},
    ),
    PublishedForm(
        "RecBole atomic files",
        "the folder: NAME.inter, NAME.item with typed headers",
        {
            "toy/toy.inter": _rows(
                "{user}\t{item}\t{stars}\t{seconds}",
                "user_id:token\titem_id:token\trating:float\ttimestamp:float",
            ),
            "toy/toy.item": _titles("{item}\tFilm {item}", "item_id:token\ttitle:token_seq"),
        },
        named=("toy",),
        titles=ITEMS,
    ),
    PublishedForm(
        "KONECT",
        "comment lines with %, then person, item, stars, time with blanks",
        {"out.toy": "% bip weighted\n% 480 40 30\n" + _rows("{user} {item} {stars} {seconds}")},
        words=("--no-header", "--user", "1", "--item", "2", "--rating", "3"),
    ),
    PublishedForm(
        "Retailrocket",
        "time in milliseconds, visitor, kind of event, item",
        {
            "events.csv": _kinds(
                "{seconds}000,{user},{kind},{item},",
                "timestamp,visitorid,event,itemid,transactionid",
            )
        },
        words=("--where", "event in addtocart|transaction"),
        kept=sum(number % 5 > 2 for number in range(480)),
        likes=sum(number % 5 > 2 for number in range(480)),
        scale=None,
        why="Without --where a view is a like, too, and the import says so.",
    ),
    PublishedForm(
        "Taobao user behaviour",
        "person, item, category, kind, time; no header",
        {"UserBehavior.csv": _kinds("{user},{item},24{item:04d},{kind},{seconds}")},
        words=("--user", "1", "--item", "2"),
        likes=480,
        scale=None,
    ),
    PublishedForm(
        "H&M transactions",
        "date, customer, article, price, sales channel",
        {
            "transactions_train.csv": _rows(
                "{when:%Y-%m-%d},c{user},{item:09d},0.0{stars}38,2",
                "t_dat,customer_id,article_id,price,sales_channel_id",
            )
        },
        likes=480,
        scale=None,
    ),
    PublishedForm(
        "Last.fm 1K",
        "person, ISO time, artist id, artist, track id, track; no header",
        {
            "plays.tsv": _rows(
                "user_{user:06d}\t{when:%Y-%m-%dT%H:%M:%SZ}\ta{item}\tArtist {item}"
                "\tt{item}\tTrack {item}"
            )
        },
        words=("--user", "1", "--item", "4", "--time", "2"),
        likes=480,
        scale=None,
    ),
    PublishedForm(
        "Million Song, taste profile",
        "person, song, plays; no header",
        {"train_triplets.txt": _rows("u{user:05d}\tSO{item}\t{stars}")},
        words=("--plays", "3"),
        likes=480,
        scale=None,
    ),
    PublishedForm(
        "Gowalla, Brightkite",
        "person, ISO time, latitude, longitude, place; no header",
        {
            "totalCheckins.txt": _rows(
                "{user}\t{when:%Y-%m-%dT%H:%M:%SZ}\t30.2{stars}59\t-97.74{stars}5\t{item}"
            )
        },
        words=("--user", "1", "--item", "5", "--events"),
        likes=480,
        scale=None,
    ),
    PublishedForm(
        "OTTO",
        "JSON lines, each a session with a list of events",
        {"otto.jsonl": _sessions()},
        words=("--user", "session", "--layout", "baskets"),
        likes=480,
        scale=None,
        why="A session is a person only if you say so.",
    ),
    PublishedForm(
        "CiteULike",
        "a line a person: number of items, then the items",
        {"users.dat": _lists()},
        words=("--layout", "baskets"),
        likes=480,
        scale=None,
        why="People are numbered by their line.",
    ),
    PublishedForm(
        "MIND",
        "impression, person, time, history, items that were shown with -1 for a click; no header",
        {"behaviors.tsv": _impressions()},
        words=("--user", "2", "--item", "5", "--layout", "baskets"),
        likes=LIKES,
        scale="0:1:1",
    ),
    PublishedForm(
        "Jester",
        "a row a person: number of ratings, then a column for each joke, 99 for none; no header",
        {"jester.csv": _jokes()},
        words=("--layout", "wide", "--scale", "1:5:1", "--on-bad", "drop"),
        why="Of the published file: --scale=-10:10:0. People are numbered by their row.",
    ),
    PublishedForm(
        "Google Analytics 4",
        "event name, time in microseconds, person, item, quantity",
        {
            "events.csv": _kinds(
                "{kind},{seconds}000000,{user},{item},1",
                "event_name,event_timestamp,user_pseudo_id,item_id,quantity",
            )
        },
        words=("--where", "event_name in transaction|addtocart"),
        kept=sum(number % 5 > 2 for number in range(480)),
        likes=sum(number % 5 > 2 for number in range(480)),
        scale=None,
    ),
    PublishedForm(
        "WooCommerce",
        "order, status, time, customer, article, quantity",
        {
            "orders.csv": _rows(
                "{user}00,wc-completed,{when:%Y-%m-%d %H:%M},{user},SKU{item},{stars}",
                "Order ID,Order Status,Order Date,Customer User ID,SKU,Quantity",
            )
        },
        likes=480,
        scale=None,
        why="`--where` leaves cancelled orders out.",
    ),
    PublishedForm(
        "Steam reviews",
        "application, time, whether it is recommended, person",
        {
            "reviews.csv": _rows("{item},{seconds},{stars},{user}").replace(",,", ","),
        },
        words=("--user", "4", "--item", "1", "--rating", "3", "--time", "2"),
    ),
    PublishedForm(
        "Google Local",
        "JSON lines; the place is gmap_id",
        {
            "review.jsonl": _text(
                [
                    json.dumps(
                        {"user_id": f"u{user}", "time": moment * 1000, "rating": stars}
                        | {"gmap_id": f"0x{item:x}:0x1"}
                    )
                    for user, item, stars, moment in ROWS
                ]
            )
        },
    ),
    PublishedForm(
        "Tenrec",
        "person, item, click, follow, like, share",
        {"QB-video.csv": _rows("{user},{item},1,0,0,0", "user_id,item_id,click,follow,like,share")},
        words=("--rating", "click", "--scale", "0:1:1"),
        likes=480,
        scale="0:1:1",
        why="Without --rating: which of click and like?",
    ),
    PublishedForm(
        "Instacart",
        "orders in one table, their lines in another",
        {
            "order_products.csv": _rows("{user}00,{item},1", "order_id,product_id,reordered"),
            "orders.csv": _text([f"{n}00,{n}" for n in range(1, PEOPLE + 1)], "order_id,user_id"),
        },
        likes=480,
        scale=None,
        why="The two tables are joined by order_id.",
    ),
)
