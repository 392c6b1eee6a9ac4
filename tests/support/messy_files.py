"""Messy files of ratings with the truth that they were made from.

A seed decides the language of the header, the delimiter, the decimal sign, the encoding, the scale,
the kinds of events, the form of times and ids, and the damage. Rows that no reader can keep are in
the file and not in the truth.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import tomllib
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files

NAMES = tomllib.loads(files("tacit.data.tables").joinpath("names.toml").read_text("utf-8"))
SCALES = {
    "1:5:1": [1, 2, 3, 4, 5],
    "0.5:5:0.5": [half / 2 for half in range(1, 11)],
    "1:10:1": list(range(1, 11)),
    "0:100:1": list(range(101)),
    "1:7:1": list(range(1, 8)),
}
TIMES = (
    "none",
    "seconds",
    "milliseconds",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%d.%m.%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y",
    "%Y%m%d",
    "%d %b %Y",
    "%a %b %d %H:%M:%S +0000 %Y",
)
IDS = ("numbers", "words", "umlauts", "zeros", "uuid", "signs")
DAMAGE = (
    "short row",
    "long row",
    "no person",
    "bad stars",
    "off the scale",
    "blank lines",
    "repeated row",
    "trailing blanks",
    "open quote",
    "mixed delimiters",
    "mark inside",
    "nul bytes",
    "header again",
    "mixed line ends",
    "totals",
    "counted totals",
    "blank columns",
    "two tables",
    "two narrow tables",
    "mixed encodings",
    "note below",
    "blanks around quotes",
)
FURTHER = ("price", "age", "store", "position", "channel", "Preis", "Filiale")
STYLES = ("plain", "plain", "plain", "percent", "of the most", "stars", "words", "letters")
"""How stars are written."""
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LOCAL = {
    "cp1250": "łódź książka",
    "cp1251": "Война и мир",
    "cp932": "東京の本",
    "cp949": "전쟁과 평화",
    "gb18030": "战争与和平",
}
"""Encodings that no reader can be sure of, and text in them."""
KINDS = ("view", "click", "purchase", "add_to_cart")


@dataclass
class Truth:
    """Rows that a right reading keeps."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)
    """Person and item to stars; 1 for an event or a like."""
    times: dict[tuple[str, str], int] = field(default_factory=dict)
    """Person and item to seconds, where the file has times."""
    damaged: set[tuple[str, str]] = field(default_factory=set)
    """Rows that a reader may keep or leave out."""
    scale: str = "0:1:1"
    """MIN:MAX:STEP; that of events is 0:1:1."""


@dataclass
class MessyFile:
    """A file and its truth."""

    name: str
    content: bytes
    truth: Truth
    choices: dict[str, str]
    """What the seed decided, for messages."""


def draw_messy_file(seed: int) -> MessyFile:
    """Draw a file of 200 to 400 rows."""
    generator = random.Random(seed)  # noqa: S311
    choices = _draw_choices(generator)
    truth = Truth(scale=choices["scale"] if choices["kind"] == "stars" else "0:1:1")
    rows = _draw_rows(generator, choices, truth)
    rows = _damaged(generator, choices, rows)
    return MessyFile(*_write(generator, choices, rows, truth), truth, choices)


def _draw_choices(generator: random.Random) -> dict[str, str]:
    kind = generator.choice(["stars", "stars", "stars", "events", "plays", "feedback"])
    choices = {
        "kind": kind,
        "delimiter": generator.choice([",", ";", "\t", "|", "::"]),
        "decimal": generator.choice([".", ",", "."]),
        "encoding": generator.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16", *LOCAL]),
        "scale": generator.choice(list(SCALES)),
        "style": generator.choice(STYLES),
        "moment": generator.choice(TIMES),
        "people": generator.choice(IDS),
        "items": generator.choice(IDS),
        "header": generator.choice(["yes", "yes", "yes", "no"]),
        "damage": generator.choice(["none", *DAMAGE]),
        "further": generator.choice(["", "", *FURTHER]),
        "packed": generator.choice(["", "", "", "gz"]),
        "line": generator.choice(["\n", "\r\n"]),
        "quotes": generator.choice(["few", "few", "all"]),
    }
    if choices["header"] == "no":
        choices["further"] = ""
        if choices["damage"] in ("header again", "two tables", "two narrow tables"):
            choices["damage"] = "none"
    if choices["delimiter"] == "::":
        choices["quotes"] = "none"
        if choices["damage"] in ("open quote", "blanks around quotes"):
            choices["damage"] = "none"
    if choices["damage"] == "blanks around quotes":
        choices["quotes"] = "padded"
    if choices["encoding"] in LOCAL:
        choices["people"] = choices["items"] = "local"
        if choices["damage"] in ("mixed encodings", "nul bytes"):
            choices["damage"] = "none"
    for role in ("user", "item", "rating", "plays", "feedback", "time"):
        names = NAMES[role].get("usual", []) + NAMES[role]["more"]
        if choices["encoding"] in LOCAL:  # no file is in Korean and in Chinese
            names = [name for name in names if name.isascii()]
        choices[role] = generator.choice(names)
    return choices


def _draw_rows(
    generator: random.Random, choices: dict[str, str], truth: Truth
) -> list[dict[str, str]]:
    people = _draw_ids(generator, choices, "people", 40)
    items = _draw_ids(generator, choices, "items", 25)
    pairs = [(person, item) for person in people for item in items]
    rows = []
    for person, item in generator.sample(pairs, generator.randrange(200, 400)):
        row = {"user": person, "item": item}
        value = 1.0
        if choices["kind"] == "stars":
            value = float(generator.choice(SCALES[choices["scale"]]))
            text = (
                f"{value:g}"
                if value != int(value) or "0.5" not in choices["scale"]
                else f"{value:.1f}"
            )
            text = text.replace(".", choices["decimal"])
            row["rating"] = _write_stars(text, value, choices)
        elif choices["kind"] == "plays":
            plays = generator.choice([1, 1, 1, 2, 3, 8, 30, 1234, 20_500])
            row["plays"] = f"{plays:,}" if choices["decimal"] == "." else str(plays)
        elif choices["kind"] == "feedback":
            value = float(generator.random() < 0.4)
            row["feedback"] = f"{value:g}"
        else:
            row["event"] = generator.choice(KINDS)
        seconds = generator.randrange(1_200_000_000, 1_600_000_000)
        if choices["moment"] != "none":
            row["time"], seconds = _write_time(seconds, choices["moment"])
            truth.times[person, item] = seconds
        if choices["further"]:
            row["further"] = _write_further(generator, choices)
        truth.values[person, item] = value
        rows.append(row)
    return rows


def _write_stars(text: str, value: float, choices: dict[str, str]) -> str:
    """Write stars as people do: as they are, in per cent, out of the most, in words or letters."""
    style, most = choices["style"], choices["scale"].split(":")[1]
    if style == "percent" and choices["scale"] == "0:100:1":
        return f"{text} %"
    if style == "of the most":
        return f"{text}/{most}"
    if style == "stars":
        return f"{text} stars"
    if style == "words" and choices["scale"] in ("1:5:1", "1:10:1", "1:7:1"):
        return f"{WORDS[int(value)]} stars"
    if style == "letters" and choices["scale"] == "1:5:1":
        return "EDCBA"[int(value) - 1]
    return text


def _write_further(generator: random.Random, choices: dict[str, str]) -> str:
    number = generator.randrange(1, 60)
    if choices["further"] in ("price", "Preis"):
        return generator.choice(["€ {}", "{} EUR", "${}", "{}"]).format(number)
    return str(number)


def _draw_ids(
    generator: random.Random, choices: dict[str, str], role: str, count: int
) -> list[str]:
    numbers = generator.sample(range(1, 90_000), count)
    kind, letter = choices[role], role[0]
    if kind == "local":
        return [f"{LOCAL[choices['encoding']]} {letter}{number}" for number in numbers]
    if kind == "numbers":
        return [str(number) for number in numbers]
    if kind == "zeros":
        return [f"{number:06d}" for number in numbers]
    if kind == "umlauts":
        return [f"{letter} Größe {number}" for number in numbers]
    if kind == "uuid":
        return [str(uuid.UUID(int=number << 60)) for number in numbers]
    if kind == "signs":
        return [f"{letter}{number}, {number}; x" for number in numbers]
    return [f"{letter}{number}" for number in numbers]


def _write_time(seconds: int, form: str) -> tuple[str, int]:
    """Write a moment in a form; and the seconds that the form keeps."""
    if form == "seconds":
        return str(seconds), seconds
    if form == "milliseconds":
        return str(seconds * 1000 + 123), seconds
    text = datetime.fromtimestamp(seconds, UTC).strftime(form)
    kept = datetime.strptime(text, form)
    return text, int(kept.replace(tzinfo=UTC).timestamp())


def _damaged(
    generator: random.Random, choices: dict[str, str], rows: list[dict[str, str]]
) -> list[dict[str, str]]:
    """Put a few bad rows among the good ones; they are no part of the truth."""
    kind = choices["damage"]
    bad = []
    for _ in range(3):
        row = dict(generator.choice(rows))
        if kind == "no person":
            row["user"] = ""
        elif kind == "bad stars" and "rating" in row:
            row["user"], row["rating"] = "nobody", "good"
        elif kind == "off the scale" and "rating" in row:
            row["rating"] = "999"
        elif kind == "short row":
            row = {"user": row["user"]}
        elif kind == "long row":
            row["beyond"] = "x"
        elif kind != "repeated row":
            continue
        bad.append(row)
    for row in bad:
        rows.insert(generator.randrange(30, len(rows)), row)
    return rows


def _write(
    generator: random.Random,
    choices: dict[str, str],
    rows: list[dict[str, str]],
    truth: Truth,
) -> tuple[str, bytes]:
    roles = [
        role for role in ("user", "item", "rating", "plays", "feedback", "event") if role in rows[0]
    ]
    roles += [role for role in ("time", "further") if role in rows[0]]
    if choices["header"] == "yes":
        generator.shuffle(roles)
    names = {**choices, "further": choices["further"], "event": "event"}
    table = [[names[role] for role in roles]] if choices["header"] == "yes" else []
    for row in rows:
        cells = [row.get(role, "") for role in roles]
        if len(row) == 1:
            cells = [row["user"]]
        if "beyond" in row:
            cells.append(row["beyond"])
        table.append(cells)
    lines = [_write_line(cells, choices) for cells in table]
    if choices["quotes"] == "padded":
        lines = [_pad_quoted_cells(generator, cells, choices) for cells in table]
    pairs = [None] * (len(table) - len(rows))
    pairs += [(row.get("user", ""), row.get("item", "")) for row in rows]
    lines = _damaged_lines(generator, choices, lines, pairs, truth, table)
    written = choices["line"].join(lines) + choices["line"]
    if choices["damage"] == "mixed line ends":
        written = _mix_line_ends(generator, lines)
    if choices["damage"] == "blank lines":
        written = written.replace(choices["line"], choices["line"] * 2)
    if choices["damage"] == "trailing blanks":
        written = written.replace(choices["line"], "  " + choices["line"])
    try:
        content = written.encode(choices["encoding"])
    except UnicodeEncodeError:  # names of columns in another language, or a sign of money
        choices["encoding"] = "utf-8"
        content = written.encode()
    if choices["damage"] == "mixed encodings":
        content = _mix_encodings(content, choices)
    name = "messy.csv"
    return (f"{name}.gz", gzip.compress(content)) if choices["packed"] else (name, content)


def _write_line(cells: list[str], choices: dict[str, str]) -> str:
    if choices["delimiter"] == "::":
        return "::".join(cells)
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if choices["quotes"] == "all" else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=choices["delimiter"], quoting=quoting, lineterminator="").writerow(
        cells
    )
    return text.getvalue()


def _pad_quoted_cells(generator: random.Random, cells: list[str], choices: dict[str, str]) -> str:
    """Write a line of quoted cells with blanks before and after them."""
    blanks = [blank for blank in ("", " ", "  ", "\t", "\u00a0") if blank != choices["delimiter"]]
    padded = []
    for cell in cells:
        quoted = '"' + cell.replace('"', '""') + '"'
        padded.append(generator.choice(blanks) + quoted + generator.choice(blanks))
    return choices["delimiter"].join(padded)


def _damaged_lines(
    generator: random.Random,
    choices: dict[str, str],
    lines: list[str],
    pairs: list[tuple[str, str] | None],
    truth: Truth,
    table: list[list[str]],
) -> list[str]:
    """Damage a few lines, or put lines among them that are no rows."""
    kind = choices["damage"]
    hit = sorted(generator.sample(range(60, len(lines)), 3))
    others = [sign for sign in (",", ";", "\t", "|") if sign != choices["delimiter"]]
    changes = {
        "mixed delimiters": lambda line: line.replace(choices["delimiter"], others[0]),
        "mark inside": lambda line: "\ufeff" + line,
        "nul bytes": lambda line: line[:2] + "\0" + line[2:],
        "open quote": lambda line: '"' + line.replace('"', ""),
    }
    if kind in changes:
        for at in hit[:1] if kind == "open quote" else hit:
            swallowed = 2 if kind == "open quote" else 1
            truth.damaged.update(pair for pair in pairs[at : at + swallowed] if pair is not None)
            lines[at] = changes[kind](lines[at])
    width = len(table[0])
    if kind == "header again":
        lines.insert(hit[1], lines[0])
    if kind == "totals":
        lines.append(_write_line(["Total", *[""] * (width - 2), "12345"], choices))
    if kind == "counted totals":
        lines.append(_write_line(["Total", *["480"] * (width - 1)], choices))
    if kind == "blank columns":
        lines = [line + 2 * choices["delimiter"] for line in lines]
    if kind == "note below":
        lines += ["", "Exported on Monday by the shop"]
    if kind == "two tables":
        names = [f"title {number}" for number in range(width - 2)]
        lines += ["", _write_line([choices["item"], "title", *names], choices)]
        lines += [_write_line([f"x{n}", f"y{n}", *names], choices) for n in range(9)]
    if kind == "two narrow tables":
        lines += ["", _write_line([choices["item"], choices["user"]], choices)]
        lines += [_write_line([f"x{n}", f"y{n}"], choices) for n in range(9)]
    return lines


def _mix_line_ends(generator: random.Random, lines: list[str]) -> str:
    return "".join(line + generator.choice(["\n", "\r\n"]) for line in lines)


def _mix_encodings(content: bytes, choices: dict[str, str]) -> bytes:
    """Write the last two of three lines of umlauts in another encoding."""
    if choices["encoding"] == "utf-16":
        return content
    lines = content.split(b"\n")
    encodings = {"cp1252": "utf-8"}
    own = "utf-8" if choices["encoding"] == "utf-8-sig" else choices["encoding"]
    for at in range(len(lines) - 4, len(lines) - 1):
        lines[at] = lines[at].decode(own).encode(encodings.get(own, "cp1252"))
    return b"\n".join(lines)
