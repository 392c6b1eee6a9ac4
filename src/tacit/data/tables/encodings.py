"""Text files decoded to UTF-8, from an encoding that the caller names or that the bytes show.

UTF-8 is recognised by its bytes, UTF-16 and UTF-32 by their byte order marks. Other encodings are
not recognised: the same bytes are `łódź` in cp1250 and `³ódŸ` in cp1252. If the caller names no
encoding, such bytes are read as cp1252, but only if no other encoding gives more letters of one
language; otherwise that is an error, which names the likely encoding if there is one.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain, product
from pathlib import Path

from tacit.errors import DataError

MIXED = "utf-8 and cp1252"
"""Name for the encoding of a file with lines in both."""
_USUAL = "cp1252"
"""The encoding that is used if the text is not UTF-8 and no other encoding fits better."""
_KNOWN_FILES = "CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB"
"""How messages name the files that can be read."""
_MULTIBYTE = re.compile(
    rb"[\xc3-\xdf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
)
"""A letter of several bytes in UTF-8."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
"""A byte that is not ASCII."""
_SAMPLE = 200_000
"""Number of bytes, from lines that are not UTF-8, that decide on the encoding."""
_START = 65_536
"""Number of bytes at the start of a file in which NUL bytes are looked for."""
_NULS_OF_UTF16 = 0.5
"""Least share of NULs in every second byte of a text in UTF-16."""
_LEAST_FIT, _LEAST_FIT_OF_OTHERS = 0.5, 0.75
"""Least fit, as `_Script.measure_fit` computes it, for cp1252 and for other encodings."""
_SEVERAL_LANGUAGES = 0.9
"""Weight of a letter where the letters of all Western languages count. It is 1 where only those of
one language do."""
_CAPITAL = 0.9
"""Weight of a capital letter. Text has more small letters than capitals, so that this weight
distinguishes two encodings of Cyrillic in which they are swapped."""
_NO_LETTERS = frozenset("€…‚„‘’“”‹›•–—™§©«»®°±·\xa0\xad、。・「」『』（）！？：；，～ー々\u3000")
"""Signs beyond ASCII that are left out, since they say nothing about the language."""
_TO_BLANKS = re.compile("[\xa0\xad\u3000]")
"""A sign that is replaced by a blank before letters are counted."""
_SIGN_IN_WORD = re.compile(
    r"(?<=[A-Za-z\x80-\U0010ffff])[^\x00-\x7f]|[^\x00-\x7f](?=[A-Za-z\x80-\U0010ffff])"
)
"""A sign beyond ASCII next to a letter or another such sign, unlike the pound sign of £5."""
_SIGN_AWAY_FROM_LATIN = re.compile(r"(?<![A-Za-z])[^\x00-\x7f](?![A-Za-z])")
"""A sign beyond ASCII that has no Latin letter next to it."""


@dataclass(frozen=True, slots=True)
class _Signs:
    """How often each sign beyond ASCII occurs in bytes that are read in one encoding."""

    in_words: Counter[str]
    """Signs next to a letter or another such sign, but for `_NO_LETTERS`."""
    away_from_latin: Counter[str]
    """Signs without a Latin letter next to them."""


def _count_signs(sample: bytes, encoding: str) -> _Signs:
    """Read bytes in an encoding, and count their signs beyond ASCII."""
    text = _TO_BLANKS.sub(" ", sample.decode(encoding, "replace"))
    in_words = Counter(_SIGN_IN_WORD.findall(text))
    for sign in _NO_LETTERS:
        del in_words[sign]
    return _Signs(in_words, Counter(_SIGN_AWAY_FROM_LATIN.findall(text)))


@dataclass(frozen=True)
class _Script:
    """The letters of a language or a script, in an encoding."""

    encoding: str
    """Name of the encoding."""
    name: str
    """Name of the language or script, for messages."""
    letters: frozenset[str]
    """Its letters beyond ASCII, in lower case."""
    weight: float = 1.0
    """Weight of each letter in the fit."""

    @cached_property
    def _is_latin(self) -> bool:
        """Whether any of the letters is a Latin one."""
        return any("LATIN" in unicodedata.name(letter) for letter in self.letters)

    def measure_fit(self, signs: _Signs) -> float:
        """Measure how well bytes fit: the weighted share of letters among signs beyond ASCII.

        fit = weight * (small letters + _CAPITAL * capital letters) / signs

        Letters of a script other than Latin do not count next to a Latin letter.

        Args:
            signs: of the bytes, read in this script's encoding.
        """
        counted = signs.in_words
        if not counted:
            return self.weight
        if not self._is_latin:
            counted = counted & signs.away_from_latin
        small = sum(counted[sign] for sign in counted if sign in self.letters)
        others = [sign for sign in counted if sign not in self.letters]
        capital = sum(counted[sign] for sign in others if sign.lower() in self.letters)
        return self.weight * (small + _CAPITAL * capital) / signs.in_words.total()


def to_utf8(raw: bytes, path: Path, encoding: str | None) -> tuple[bytes, str]:
    """Decode a text file to UTF-8, without a byte order mark.

    Args:
        raw: Bytes of the file, unpacked.
        path: The file, for messages.
        encoding: Name of the encoding; None: found in the bytes.

    Returns:
        The text in UTF-8, and the encoding that it had; MIXED if some lines were in UTF-8 and some
        in cp1252.

    Raises:
        DataError: There is no encoding of this name, or the text is not in it; or none is named,
            and the bytes are no text, or probably in another encoding than UTF-8 and cp1252.
    """
    if encoding is None and raw.isascii() and b"\0" not in raw[:_START]:
        return (raw if b"\n" in raw else raw.replace(b"\r", b"\n")), "utf-8"
    if encoding is None:
        encoding = _find_encoding(raw, path)
    if encoding == MIXED:
        return _decode_each_line(raw).removeprefix(b"\xef\xbb\xbf"), MIXED
    try:
        raw = raw.decode(encoding, "replace" if encoding == _USUAL else "strict").encode()
    except (LookupError, UnicodeError) as error:
        is_unknown = isinstance(error, LookupError)
        raise DataError(
            "there is no such encoding" if is_unknown else "the text is not in this encoding",
            path=path,
            found=encoding,
            fix="Name another with --encoding, such as utf-8, cp1252 or utf-16.",
        ) from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")  # line ends of old Macs
    return raw, encoding


def _find_encoding(raw: bytes, path: Path) -> str:
    """Find the encoding of bytes that are not all ASCII, or have a NUL near their start.

    Raises:
        DataError: The bytes are no text, or are probably in another encoding than UTF-8 and cp1252.
    """
    if raw.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\0" in raw[:_START]:
        raise _nul_bytes_error(raw[:_START], path)
    try:
        raw.decode()
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    _refuse_other_encodings(raw, path)
    # The text is not UTF-8. If it has letters of several bytes all the same, some lines are UTF-8.
    return MIXED if _MULTIBYTE.search(raw) else _USUAL


def _nul_bytes_error(start: bytes, path: Path) -> DataError:
    """Make the error for a file with NUL bytes: it is UTF-16 without its mark, or no text."""
    # In UTF-16, Latin letters have a NUL as their second or as their first byte.
    counts = {"utf-16-le": start[1::2].count(0), "utf-16-be": start[::2].count(0)}
    for encoding, nuls in counts.items():
        other_nuls = start.count(0) - nuls
        if 2 * nuls > _NULS_OF_UTF16 * len(start) and other_nuls < nuls / 10:
            return DataError(
                f"the text seems to be {encoding}, without its mark",
                path=path,
                fix=f"Read it with  --encoding {encoding}  (from Python: "
                f'encoding="{encoding}"), or write the file as UTF-8.',
            )
    return DataError(
        "this is no text, nor a table of a known form", path=path, expected=_KNOWN_FILES
    )


def _refuse_other_encodings(raw: bytes, path: Path) -> None:
    """Raise DataError unless cp1252 fits the lines that are not UTF-8, and fits them best."""
    sample = _find_lines_beyond_utf8(raw)
    encodings = {script.encoding for script in _read_scripts()}
    signs_of = {encoding: _count_signs(sample, encoding) for encoding in encodings}
    fit_of = {script: script.measure_fit(signs_of[script.encoding]) for script in _read_scripts()}
    likely = max(fit_of, key=fit_of.__getitem__)
    fit = fit_of[likely]
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


def _find_lines_beyond_utf8(raw: bytes) -> bytes:
    """Return the first lines that are not UTF-8, until they have `_SAMPLE` bytes together."""
    chosen: list[bytes] = []
    size = 0
    match = _BEYOND_ASCII.search(raw)
    while match is not None and size < _SAMPLE:
        start = raw.rfind(b"\n", 0, match.start()) + 1
        end = raw.find(b"\n", match.start())
        line = raw[start:] if end < 0 else raw[start:end]
        try:
            line.decode()
        except UnicodeDecodeError:
            chosen.append(line)
            size += len(line)
        match = _BEYOND_ASCII.search(raw, start + len(line))
    return b"\n".join(chosen)


@cache
def _read_scripts() -> tuple[_Script, ...]:
    """Read the letters of all encodings from `encodings.toml`.

    Of several encodings that fit equally well, the first is chosen, so the likeliest come first.
    """
    table = tomllib.loads(files(__package__).joinpath("encodings.toml").read_text("utf-8"))
    scripts = []
    for encoding, languages in table["letters"].items():
        for name, letters in languages.items():
            scripts.append(_Script(encoding, name, frozenset(letters)))
    western = [script for script in scripts if script.encoding == _USUAL]
    others = [script for script in scripts if script.encoding != _USUAL]
    western_letters = frozenset(chain.from_iterable(script.letters for script in western))
    all_western = _Script(_USUAL, "Western languages", western_letters, _SEVERAL_LANGUAGES)
    two_byte_scripts = []
    for encoding, pairs in table["pairs"].items():
        letters = frozenset(_list_two_byte_letters(pairs["as"], pairs["first"]))
        two_byte_scripts.append(_Script(encoding, pairs["name"], letters))
    return (*western, all_western, *two_byte_scripts, *others)


def _list_two_byte_letters(encoding: str, ranges: list[list[int]]) -> list[str]:
    """List the letters of two bytes in an encoding.

    Args:
        encoding: Name of the encoding.
        ranges: Ranges of the first byte of a letter, each as its first and its last value.
    """
    letters = []
    for start, stop in ranges:
        for first, second in product(range(start, stop + 1), range(0x40, 0xFF)):
            letters.append(bytes((first, second)).decode(encoding, "ignore"))
    return [letter for letter in letters if len(letter) == 1 and not letter.isascii()]


def _decode_each_line(raw: bytes) -> bytes:
    """Decode lines of which some are UTF-8 and some cp1252; other bytes become U+FFFD."""
    lines = []
    for line in raw.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            encoding = "utf-8" if _MULTIBYTE.search(line) else _USUAL
            lines.append(line.decode(encoding, "replace"))
    return "\n".join(lines).encode()
