"""The model file: whole or refused."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import container
from tacit.errors import ModelFileError, OutputError, TacitError

HEADER = {"name": "é", "list": [1, 2.5, None, True]}
ARRAYS = {
    "floats": np.array([[1.5, -0.0], [np.inf, np.nan]]),
    "integers": np.arange(3, dtype=np.int64),
    "empty": np.zeros((0, 2)),
    "bytes": np.array([0, 255], dtype=np.uint8),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model"
    container.write(path, HEADER, ARRAYS)
    return path


def test_round_trip(file):
    """Header and arrays come back as they were, to the last bit and type."""
    header, arrays = container.read(file)
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_same_content_same_bytes(file, tmp_path):
    """Two files of one model are equal, whatever order the header's keys came in."""
    container.write(tmp_path / "again", dict(reversed(HEADER.items())), ARRAYS)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_big_endian_arrays_are_turned(tmp_path):
    """An array in the other byte order is stored in the file's and has the same values."""
    container.write(tmp_path / "model", {}, {"a": np.array([1.0, 2.0], dtype=">f8")})
    assert container.read(tmp_path / "model")[1]["a"].tolist() == [1.0, 2.0]


def test_every_flipped_byte_is_refused(file):
    """Whichever single byte changed, the file is refused with its path and a reason."""
    good = file.read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 1 + position % 255
        file.write_bytes(bad)
        with pytest.raises(ModelFileError) as refused:
            container.read(file)
        assert str(refused.value).startswith(f"{file}: ")
        assert len(str(refused.value)) > len(f"{file}: ") + 15


def test_every_length_is_refused(file):
    """A file cut short anywhere, or with a byte too many, is refused."""
    good = file.read_bytes()
    for content in [*(good[:length] for length in range(len(good))), good + b"\0"]:
        file.write_bytes(content)
        with pytest.raises(ModelFileError, match="model"):
            container.read(file)


def forged(path, content, body=b"", length=None):
    """A file with a right hash around any header."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    size = len(text) if length is None else length
    whole = container.MAGIC + size.to_bytes(8, "little") + text + body
    path.write_bytes(whole + hashlib.sha256(whole).digest())
    return path


def array(**changes):
    return {"name": "a", "dtype": "<f8", "shape": [1]} | changes


@pytest.mark.parametrize(
    "arrays",
    [
        [array(shape=[-1])],
        [array(shape=[-1, -1])],
        [array(shape=[2])],
        [array(shape=[1 << 62])],
        [array(shape=[0, 10**30])],
        [array(shape=[2**31 - 1, 2**31 - 1, 2**31 - 1, 0])],
        [array(shape=[1, 1, 1, 1, 1])],
        [array(shape=[1.0])],
        [array(shape=[True])],
        [array(shape=["1"])],
        [array(shape=1)],
        [array(shape=None)],
        [array(dtype="|O")],
        [array(dtype="object")],
        [array(dtype="<U2")],
        [array(dtype="V8")],
        [array(dtype="f8,f8")],
        [array(dtype=["<f8"])],
        [array(shape=[0]), array()],
        [{"name": "a"}],
        ["a"],
        "a",
        None,
        7,
    ],
    ids=str,
)
def test_hostile_arrays_are_refused(tmp_path, arrays):
    """A table of arrays that the writer never makes is refused, whatever it claims."""
    file = forged(tmp_path / "f", {"format": 1, "header": {}, "arrays": arrays}, bytes(8))
    with pytest.raises(ModelFileError):
        container.read(file)


@pytest.mark.parametrize(
    "content",
    [
        {"format": 2, "header": {}, "arrays": []},
        {"format": "1", "header": {}, "arrays": []},
        {"header": {}, "arrays": []},
        {"format": 1, "header": [], "arrays": []},
        [],
        b"",
        b"\xff",
        b"[" * 100_000,
        b"{",
    ],
    ids=lambda content: str(content)[:30],
)
def test_hostile_headers_are_refused(tmp_path, content):
    """A header of another format, of another shape or of no JSON is refused."""
    with pytest.raises(ModelFileError):
        container.read(forged(tmp_path / "f", content))


@pytest.mark.parametrize("length", [1 << 63, (1 << 64) - 1, 1 << 28, 10_000])
def test_huge_header_length_is_refused(tmp_path, length):
    """A header longer than the file is refused before anything is read from it."""
    file = forged(tmp_path / "f", {"format": 1, "header": {}, "arrays": []}, length=length)
    with pytest.raises(ModelFileError, match=str(length)):
        container.read(file)


def test_format_is_named(tmp_path):
    """A file of a later format says which formats meet."""
    file = forged(tmp_path / "f", {"format": 9, "header": {}, "arrays": []})
    with pytest.raises(ModelFileError, match=r"format 9.*format 1"):
        container.read(file)


class Trap:
    """Leaves a mark when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def test_pickle_is_refused_unopened(tmp_path):
    """A pickle by the name of a model is refused, and nothing in it is run."""
    (tmp_path / "model.tacit").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError, match="not a tacit model file"):
        container.read(tmp_path / "model.tacit")
    forged(tmp_path / "dressed", pickle.dumps(Trap()))
    with pytest.raises(ModelFileError):
        container.read(tmp_path / "dressed")
    assert not Trap.sprung


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_noise_is_refused(tmp_path_factory, noise):
    """Arbitrary bytes behind the magic and a right hash are refused, never another error."""
    path = tmp_path_factory.getbasetemp() / "noise"
    whole = container.MAGIC + noise
    path.write_bytes(whole + hashlib.sha256(whole).digest())
    with pytest.raises(ModelFileError):
        container.read(path)


def test_missing_file_is_named(tmp_path):
    """A path without a file is refused in words, with the path."""
    with pytest.raises(ModelFileError, match="nowhere"):
        container.read(tmp_path / "nowhere")


def test_failed_write_leaves_the_old_file(file, monkeypatch):
    """When the disk fails, the old file stays as it was and no scrap is left behind."""
    before = file.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tacit.atomic_writes.os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        container.write(file, {"new": True}, {})
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_interrupted_write_leaves_the_old_file(file, monkeypatch):
    """An interrupt in the middle leaves the old file and no scrap, and is passed on."""
    before = file.read_bytes()

    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.atomic_writes.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        container.write(file, {"new": True}, {})
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("place", ["missing/model", "."])
def test_place_that_cannot_be_written(tmp_path, place):
    """A missing folder, or a folder in the file's place, is refused with its path."""
    with pytest.raises(OutputError, match="cannot be written"):
        container.write(tmp_path / place, {}, {})


@pytest.mark.parametrize("bad", [np.array(["a"], dtype=object), np.array(["a"]), np.array([1j])])
def test_types_without_a_place(tmp_path, bad):
    """Objects, strings and complex numbers cannot be stored in a model file."""
    with pytest.raises(TacitError, match="cannot be stored"):
        container.write(tmp_path / "model", {}, {"a": bad})
    assert not (tmp_path / "model").exists()


def test_an_array_of_one_number_has_no_axis(tmp_path):
    """A number comes back without an axis, as it was written."""
    container.write(tmp_path / "model", {}, {"a": np.array(2.5)})
    read = container.read(tmp_path / "model")[1]["a"]
    assert (read.shape, float(read)) == ((), 2.5)


@pytest.mark.parametrize(("axes", "fits"), [(4, True), (5, False)])
def test_what_is_written_can_be_read(tmp_path, axes, fits):
    """An array with more axes than a reader accepts is not written."""
    array = np.zeros((1,) * axes)
    if fits:
        container.write(tmp_path / "model", {}, {"a": array})
        assert container.read(tmp_path / "model")[1]["a"].shape == array.shape
        return
    with pytest.raises(TacitError, match="has 5 axes"):
        container.write(tmp_path / "model", {}, {"a": array})
    assert not (tmp_path / "model").exists()


def test_a_header_that_no_reader_accepts_is_not_written(tmp_path, monkeypatch):
    """The limits of a header are those of reading."""
    monkeypatch.setattr(container, "_MAX_HEADER_VALUES", 100)
    container.write(tmp_path / "model", {"titles": ["x"] * 50}, {})
    assert container.read(tmp_path / "model")[0]["titles"] == ["x"] * 50
    with pytest.raises(TacitError, match="reads at most 100"):
        container.write(tmp_path / "other", {"titles": ["x"] * 101}, {})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_header_holds_no_odd_number(tmp_path, number):
    """NaN and infinity are no JSON; a header with one is not written."""
    with pytest.raises(ValueError, match="JSON"):
        container.write(tmp_path / "model", {"a": number}, {})
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_of_any_other(tmp_path, mask, mode):
    """A model can be read by whom the umask lets read, for a model is there to be shared."""
    before = os.umask(mask)
    try:
        container.write(tmp_path / "model", {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == mode


def test_a_replaced_file_hands_its_mode_on(file):
    """Writing a model anew opens it to nobody, and closes it to nobody."""
    file.chmod(0o640)
    container.write(file, {"new": True}, {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
