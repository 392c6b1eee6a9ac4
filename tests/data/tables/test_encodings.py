"""Encodings of text files: read where they are sure, named where they are likely, or asked for."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import tacit
from tacit.cli.app import main
from tacit.errors import DataError

WESTERN = {
    "German": "Größe und Maß, Öl für München, Übergröße",
    "French": "Les élèves français à l'école, être où, œuvre",
    "Spanish": "El niño comió ñoquis, corazón, ¿qué más?",
    "Portuguese": "São João, coração, ação, avó, você",
    "Italian": "Però è così più città",
    "Swedish": "Smörgåsbord på ön",
    "Danish": "Rødgrød med fløde på æble",
    "Icelandic": "Þetta er íslenska, það er góð bók",
    "several languages": "Amélie, Ähren, El Niño, Smörgås, Rødgrød, São Paulo, Città, François",
    "names": "Pokémon, Beyoncé, Björk, Sigur Rós, Mötley Crüe, Sinéad",
    "signs beside numbers": "£5 ½ 3² £\u00a07 ¥9",
    "signs": "it’s a “test” – 5 € …",
}
OTHER = {
    "cp1250 Polish": "Zażółć gęślą jaźń, łódź, piłka, książka",
    "cp1250 Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "cp1250 Hungarian": "Árvíztűrő tükörfúrógép, könyv, ősz",
    "cp1250 Romanian": "Şase ţări înţeleg, bună, mâine",
    "cp1250 Croatian": "Kožuh, čaša, ćevap, šećer, đak",
    "cp1251 Cyrillic": "Война и мир, Преступление и наказание",
    "koi8_r Cyrillic": "Война и мир, Преступление и наказание",
    "cp866 Cyrillic": "Война и мир, Преступление и наказание",
    "cp1253 Greek": "Ελληνικά βιβλία, ήλιος",
    "cp1254 Turkish": "Türkçe şarkı, güneş, ağaç, çığ, ışık",
    "cp1255 Hebrew": "ספר טוב מאוד",
    "cp1256 Arabic": "كتاب جيد جدا",
    "cp1257 Lithuanian": "ąžuolas, žvėris, šį, ėjo, ūkis",
    "cp874 Thai": "หนังสือดี ภาษาไทย",
    "cp850 German": "Größe für Männer, Straße",
    "mac_roman German": "Größe für Männer, Straße",
    "cp932 Japanese": "東京の本, ユーザー, レビュー, 日本語のテスト",
    "cp949 Korean": "한국어 책, 사용자, 상품, 평점",
    "gb18030 Chinese": "战争与和平, 三体, 活着, 围城, 白鹿原",
    "big5 Chinese": "戰爭與和平, 圍城, 商品, 評分",
    "euc_jp Japanese": "東京の本, ユーザー, レビュー, 日本語のテスト",
}
"""Encoding and language to text."""


def written(text: str) -> str:
    """A table of 60 ratings whose items are the words of a text."""
    words = text.replace(",", "").split()
    rows = []
    for person in range(60):
        word = words[person % len(words)]
        rows.append(f"u{person // 3},{word} {person % 2},{1 + person % 5}\n")
    return "user,item,rating\n" + "".join(rows)


def items_of(text: str) -> set[str]:
    """Items of that table."""
    return {row.split(",")[1] for row in written(text).splitlines()[1:]}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    """A file with these bytes."""

    def writer(content: bytes) -> Path:
        path = tmp_path / "shop.csv"
        path.write_bytes(content)
        return path

    return writer


@pytest.mark.parametrize("language", WESTERN)
def test_western_text_is_read_as_cp1252(language: str, write: Callable[[bytes], Path]) -> None:
    """Text of Western languages in cp1252 needs no flag."""
    ratings = tacit.read_ratings(write(written(WESTERN[language]).encode("cp1252")))
    assert set(ratings.item_ids.tolist()) == items_of(WESTERN[language])


@pytest.mark.parametrize("case", OTHER)
def test_a_likely_encoding_is_named_and_then_read(
    case: str, write: Callable[[bytes], Path]
) -> None:
    """Text in another encoding is refused with the flag that reads it right."""
    encoding = case.split()[0]
    path = write(written(OTHER[case]).encode(encoding))
    with pytest.raises(DataError, match=rf"--encoding {encoding} "):
        tacit.read_ratings(path)
    ratings = tacit.read_ratings(path, encoding=encoding)
    assert set(ratings.item_ids.tolist()) == items_of(OTHER[case])


def test_bytes_of_no_language_are_refused(write: Callable[[bytes], Path]) -> None:
    """Signs that are letters of no language are not read as some letters."""
    with pytest.raises(DataError, match=r"encoding is not clear.*--encoding"):
        tacit.read_ratings(write(written("A B C").encode().replace(b"A", bytes(range(128, 256)))))


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("shop.csv", content)
    return packed.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, _zipped])
def test_packed_files_are_read_in_a_named_encoding(
    pack: Callable[[bytes], bytes], write: Callable[[bytes], Path]
) -> None:
    """Packing changes nothing: the same message, and the same table."""
    path = write(pack(written(OTHER["cp1251 Cyrillic"]).encode("cp1251")))
    with pytest.raises(DataError, match=r"--encoding cp1251 "):
        tacit.read_ratings(path)
    ratings = tacit.read_ratings(path, encoding="cp1251")
    assert set(ratings.item_ids.tolist()) == items_of(OTHER["cp1251 Cyrillic"])


def test_a_pipe_is_read_in_a_named_encoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tacit data import PIPE --encoding cp1251` reads the titles."""
    pipe, text = tmp_path / "pipe", written(OTHER["cp1251 Cyrillic"])
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text.encode("cp1251"),))
    writer.start()
    out = str(tmp_path / "out")
    words = ["data", "import", str(pipe), "-o", out, "--encoding", "cp1251", "--yes", "--json"]
    assert main(words) == 0
    writer.join()
    assert json.loads(capsys.readouterr().out)["kept"] == 60
    assert set(tacit.load(out).item_ids.tolist()) == items_of(OTHER["cp1251 Cyrillic"])


def test_fit_takes_the_encoding_of_all_files(tmp_path: Path) -> None:
    """`tacit fit --encoding` reads ratings and their items, too."""
    text = OTHER["cp1251 Cyrillic"]
    path, about = tmp_path / "shop.csv", tmp_path / "about.csv"
    path.write_bytes(written(text).encode("cp1251"))
    titles = "".join(f"{item},Книга {item}\n" for item in sorted(items_of(text)))
    about.write_bytes(("item,title\n" + titles).encode("cp1251"))
    fit = ["fit", "private", str(path), "--items", str(about), "--epsilon", "1"]
    assert main(fit) == 3
    assert main([*fit, "--encoding", "cp1251"]) == 0
    model = tacit.load_model(path.with_suffix(".tacit"))
    assert {each.item_id for each in model.recommend(history={}, n=3)} <= items_of(text)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_named(encoding: str, write: Callable[[bytes], Path]) -> None:
    """UTF-16 without its mark is refused with the flag that reads it."""
    path = write(written("Größe und Maß").encode(encoding))
    with pytest.raises(DataError, match=rf"--encoding {encoding} "):
        tacit.read_ratings(path)
    assert len(tacit.read_ratings(path, encoding=encoding)) == 60


def test_json_in_another_encoding_is_read_when_it_is_named(write: Callable[[bytes], Path]) -> None:
    """JSON is UTF-8 unless an encoding is named."""
    rows = [{"user": n // 3, "item": f"Größe {n % 7}", "rating": 1 + n % 5} for n in range(60)]
    path = write(json.dumps(rows, ensure_ascii=False).encode("cp1252"))
    with pytest.raises(DataError, match="--encoding"):
        tacit.read_ratings(path)
    ratings = tacit.read_ratings(path, encoding="cp1252")
    assert "Größe 1" in ratings.item_ids.tolist()


@pytest.mark.parametrize("content", [b"user,item,rating\n1,7,5\n", b'[{"user": 1, "item": 7}]'])
def test_an_unknown_encoding_is_refused_as_unknown(
    content: bytes, write: Callable[[bytes], Path]
) -> None:
    """A misspelt name of an encoding is not taken for bytes that are in another encoding."""
    with pytest.raises(DataError, match="there is no such encoding"):
        tacit.read_ratings(write(content), encoding="utf-9")


def test_a_list_of_json_without_objects_is_asked_for_objects(
    write: Callable[[bytes], Path],
) -> None:
    """The error for a JSON list names the form of a list, not that of JSON lines."""
    with pytest.raises(DataError, match="a list of objects"):
        tacit.read_ratings(write(b"[1, 2]"))
