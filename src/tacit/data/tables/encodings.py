"""Bytes of a text file as UTF-8: in the encoding that is named, or as the bytes say.

UTF-8 and UTF-16 are known by their bytes. Encodings of one byte a letter are not: the same bytes
are `łódź` in cp1250 and `³ódŸ` in cp1252. Only cp1252 is taken for granted, and only where no other
reading gives more letters of one language; otherwise the error names the likely encoding.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, product
from pathlib import Path

from tacit.errors import DataError

MIXED = "utf-8 and cp1252"
_USUAL = "cp1252"
_FORMS = "CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB"
_MULTIBYTE = re.compile(
    rb"[\xc3-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
)
"""A letter of several bytes in UTF-8."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_SAMPLE = 200_000  # bytes of lines with letters beyond ASCII that are looked at
_NULS_OF_UTF16 = 0.5
"""Share of every second byte that is 0 in UTF-16 of Western text."""
_LEAST_FIT, _LEAST_FIT_OF_OTHERS = 0.5, 0.75
"""Share of the signs beyond ASCII that are letters, in text in cp1252 and in other encodings."""
_SEVERAL_LANGUAGES = 0.9
"""Worth of a letter of any Western language, beside 1 for the letters of a single one."""
_CAPITAL = 0.9
"""Worth of a capital: text has more small letters, which tells apart two encodings of Cyrillic."""
_NO_LETTERS = frozenset("€…‚„‘’“”‹›•–—™§©«»®°±·\xa0\xad、。・「」『』（）！？：；，～ー々\u3000")
"""Signs that say nothing about the language."""
_TO_BLANKS = dict.fromkeys(map(ord, "\xa0\xad\u3000"), " ")
_SIGN_IN_WORD = re.compile(
    r"(?<=[A-Za-z\x80-\U0010ffff])[^\x00-\x7f]|[^\x00-\x7f](?=[A-Za-z\x80-\U0010ffff])"
)
"""A sign beyond ASCII beside a letter or another such sign: not the pound of £5."""
_SIGN_OFF_LATIN_LETTERS = re.compile(r"(?<![A-Za-z])[^\x00-\x7f](?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class _Script:
    """Letters of a language or writing, in an encoding."""

    encoding: str
    name: str
    """Language, for messages."""
    letters: frozenset[str]
    """Letters beyond ASCII, lower case."""
    worth: float = 1.0
    """Worth of a letter."""

    def measure_fit(self, sample: bytes) -> float:
        """Give the share of the signs beyond ASCII that are letters of it, times their worth.

        Letters of another writing than Latin do not count beside a Latin one.
        """
        text = sample.decode(self.encoding, "replace").translate(_TO_BLANKS)
        signs = Counter(_SIGN_IN_WORD.findall(text))
        for sign in _NO_LETTERS:
            del signs[sign]
        if not signs:
            return self.worth
        standing = signs
        if not any("LATIN" in unicodedata.name(letter) for letter in self.letters):
            standing = signs & Counter(_SIGN_OFF_LATIN_LETTERS.findall(text))
        small = sum(standing[sign] for sign in standing if sign in self.letters)
        capitals = [sign for sign in standing if sign not in self.letters]
        large = sum(standing[sign] for sign in capitals if sign.lower() in self.letters)
        return self.worth * (small + _CAPITAL * large) / signs.total()


def to_utf8(raw: bytes, path: Path, encoding: str | None) -> tuple[bytes, str]:
    """Decode a text file to UTF-8.

    A file of lines in UTF-8 and in Windows-1252 is read line by line.

    Args:
        raw: Bytes of the file, unpacked.
        path: Where it is from, for messages.
        encoding: Name of the encoding; None: looked for.

    Returns:
        The text in UTF-8, and the encoding that it had: MIXED for lines in several.

    Raises:
        DataError: It is not in that encoding, or probably in another than UTF-8 or cp1252.
    """
    if encoding is None and raw.isascii() and b"\0" not in raw[:65536]:
        return (raw if b"\n" in raw else raw.replace(b"\r", b"\n")), "utf-8"
    if encoding is None:
        encoding = _find_encoding(raw, path)
    if encoding == MIXED:
        return _decode_each_line(raw).removeprefix(b"\xef\xbb\xbf"), MIXED
    try:
        raw = raw.decode(encoding, "replace" if encoding == _USUAL else "strict").encode()
    except (LookupError, UnicodeError):
        raise DataError(
            "the text is not in this encoding",
            path=path,
            found=encoding,
            fix="Name another with --encoding, such as utf-8, cp1252 or utf-16.",
        ) from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")  # line ends of old Macs
    return raw, encoding


def _find_encoding(raw: bytes, path: Path) -> str:
    """Find the encoding of bytes that are not all ASCII."""
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\0" in raw[:65536]:
        raise _error_of_nul_bytes(raw[:65536], path)
    try:
        raw.decode()
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    _refuse_other_encodings(raw, path)
    return MIXED if _MULTIBYTE.search(raw) else _USUAL


def _error_of_nul_bytes(head: bytes, path: Path) -> DataError:
    """Make the error of a file with NUL bytes: UTF-16 without its mark, or no text."""
    shares = {"utf-16-le": head[1::2].count(0), "utf-16-be": head[::2].count(0)}
    for encoding, number in shares.items():
        if 2 * number > _NULS_OF_UTF16 * len(head) and head.count(0) - number < number / 10:
            return DataError(
                f"the text seems to be {encoding}, without its mark",
                path=path,
                fix=f"Read it with  --encoding {encoding}  (from Python: "
                f'encoding="{encoding}"), or write the file as UTF-8.',
            )
    return DataError("this is no text, nor a table of a known form", path=path, expected=_FORMS)


def _refuse_other_encodings(raw: bytes, path: Path) -> None:
    """Raise DataError where the lines that are not UTF-8 make more sense in another than cp1252."""
    sample = _lines_beyond_utf8(raw)
    likely = max(_scripts(), key=lambda script: script.measure_fit(sample))
    fit = likely.measure_fit(sample)
    if likely.encoding == _USUAL and fit >= _LEAST_FIT:
        return
    if fit < _LEAST_FIT_OF_OTHERS:
        raise DataError(
            "the text is not UTF-8, and its encoding is not clear",
            path=path,
            fix="Name it with --encoding, such as cp1250, cp1251, cp1252, cp932 or gb18030, or "
            "write the file as UTF-8.",
        )
    raise DataError(
        f"the text is not UTF-8: it seems to be {likely.encoding} ({likely.name})",
        path=path,
        fix=f"Read it with  --encoding {likely.encoding}  (from Python: "
        f'encoding="{likely.encoding}"), name another, or write the file as UTF-8.',
    )


def _lines_beyond_utf8(raw: bytes) -> bytes:
    """Give the first lines that are not UTF-8."""
    chosen: list[bytes] = []
    size = 0
    found = _BEYOND_ASCII.search(raw)
    while found is not None and size < _SAMPLE:
        start = raw.rfind(b"\n", 0, found.start()) + 1
        end = raw.find(b"\n", found.start())
        line = raw[start:] if end < 0 else raw[start:end]
        try:
            line.decode()
        except UnicodeDecodeError:
            chosen.append(line)
            size += len(line)
        found = _BEYOND_ASCII.search(raw, start + len(line))
    return b"\n".join(chosen)


@cache
def _scripts() -> tuple[_Script, ...]:
    """Read the table of letters, the likeliest of equal ones first."""
    table = tomllib.loads(files(__package__).joinpath("encodings.toml").read_text("utf-8"))
    scripts = []
    for encoding, languages in table["letters"].items():
        for name, letters in languages.items():
            scripts.append(_Script(encoding, name, frozenset(letters)))
    western = [script for script in scripts if script.encoding == _USUAL]
    others = [script for script in scripts if script.encoding != _USUAL]
    letters_of_all = frozenset(chain.from_iterable(script.letters for script in western))
    several = _Script(_USUAL, "Western languages", letters_of_all, _SEVERAL_LANGUAGES)
    in_pairs = []
    for encoding, pairs in table["pairs"].items():
        letters = frozenset(_letters_of_pairs(pairs["as"], pairs["first"]))
        in_pairs.append(_Script(encoding, pairs["name"], letters))
    return (*western, several, *in_pairs, *others)


def _letters_of_pairs(encoding: str, ranges: list[list[int]]) -> list[str]:
    """List the letters of two bytes whose first lies in a range."""
    letters = []
    for first, last in ranges:
        for lead, trail in product(range(first, last + 1), range(0x40, 0xFF)):
            letters.append(bytes((lead, trail)).decode(encoding, "ignore"))
    return [letter for letter in letters if len(letter) == 1 and not letter.isascii()]


def _decode_each_line(raw: bytes) -> bytes:
    """Decode lines of which some are UTF-8 and some Windows-1252; what is in neither is U+FFFD."""
    lines = []
    for line in raw.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            encoding = "utf-8" if _MULTIBYTE.search(line) else _USUAL
            lines.append(line.decode(encoding, "replace"))
    return "\n".join(lines).encode()
