"""Vectors of the lists that devices make of a released private model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from golden.vectors import tagged
from tacit import container
from tacit.designs.private.device import DeviceLists
from tacit.errors import ConfigError, ModelFileError

ITEMS = [*range(1, 8), "7", "ü", 10**12]
_SAID = {
    "message": "private-lists",
    "version": 1,
    "items": ITEMS,
    "titles": None,
    "context": None,
    "cold": 0,
    "scale": [1.0, 5.0],
    "liked_from": 3.8,
    "low": 0.4,
    "beside": 0.3,
    "clip": 2.5,
    "named_features": 1.0,
    "card": {"epsilon": 1.0, "delta": 1e-6},
}


def model(mode: str, *, seed: int = 7, pairs: bool = False, **said: Any) -> bytes:
    """A file of numbers that were fitted to nobody. pairs: in place of the map of own likes."""
    draws = np.random.default_rng(seed)
    context = said.get("context") or ITEMS[: len(ITEMS) - said.get("cold", 0)]
    arrays: dict[str, Any] = {"means": draws.integers(0, 3000, len(ITEMS))}
    exact: dict[str, Any] = {}
    places: dict[str, Any] = {}
    if mode == "taste":
        arrays |= {"damping": draws.integers(9000, 30000, len(context))}
        arrays |= {"mean": draws.integers(0, 9000, 4)}
        arrays |= {"directions": draws.integers(-32767, 32768, (4, 3))}
        arrays |= {"items": draws.integers(-32767, 32768, (len(ITEMS), 3))}
        if pairs:
            places["pair_items"] = np.array([0, 1, 4, 7, 9])
            if said.get("cold"):
                places["pair_items"] = np.array([0, 1, 3, 4, 6])
            arrays |= {"pairs": draws.integers(-32767, 32768, (5, 6))}
            exact["pairs_mean"] = draws.integers(-(2**31) + 1, 2**31, 6)
        elif said.get("context") is None:
            exact["own_likes"] = draws.integers(-(2**31) + 1, 2**31, (3, 3))
            exact["own_likes_mean"] = draws.integers(-(2**31) + 1, 2**31, 3)
        rows = [[place % 4, (place + 1 + place // 3) % 4] for place in range(len(context))]
        rows = [sorted(set(row)) for row in rows]
        places["offsets"] = np.cumsum([0, *map(len, rows)])
        places["columns"] = np.concatenate(rows)
    if mode == "taste" and "named_features" in said:
        arrays |= {"dense": draws.integers(-32767, 32768, (len(context), 2))}
        arrays["mean"] = draws.integers(0, 9000, 6)
        arrays["directions"] = draws.integers(-32767, 32768, (6, 3))
        arrays |= {"consented": draws.integers(-32767, 32768, 2 * len(ITEMS))}
        places["consented_offsets"] = np.arange(0, 2 * len(ITEMS) + 1, 2)
        places["consented_columns"] = draws.integers(0, len(ITEMS), 2 * len(ITEMS))
    if mode == "top-items":
        chosen = draws.permutation(len(context))[:5]
        places = {"context": chosen, "targets": draws.permutation(len(ITEMS))[:4]}
        arrays |= {"weights": draws.integers(-32767, 32768, (5, 4))}
    units = {
        name: (draws.random(values.shape[1:]) / 3e4).tolist() for name, values in arrays.items()
    }
    for name, values in exact.items():
        units[name] = (draws.random(values.shape[1:]) / 2e9).tolist()
    whole = {name: values.astype("<i2") for name, values in arrays.items()}
    whole |= {name: values.astype("<i4") for name, values in exact.items()}
    whole |= {name: values.astype("<i4") for name, values in places.items()}
    return container.pack({**_SAID, "mode": mode, "units": units, **said}, whole)


MODELS = {
    "taste": model("taste"),
    "dense taste": model("taste", named_features=0.7),
    "taste, cold items": model("taste", cold=3),
    "top-items": model("top-items"),
    "popularity": model("popularity"),
    "taste across": model("taste", context=["a", "b", 3, 4]),
    "top-items across": model("top-items", context=["a", "b", 3, 4, 5, 6]),
    "taste and pairs": model("taste", pairs=True),
    "taste and pairs, cold items": model("taste", pairs=True, cold=3),
}
_HISTORIES: tuple[dict[Any, float], ...] = (
    {},
    {1: 5.0},
    {1: 5.0, 2: 1.0, "7": 3.5, 10**12: 4.0},
    {"a": 5.0, "b": 2.0, 3: 4.0, "unknown": 3.0},
    {item: 1.0 + place % 5 for place, item in enumerate(ITEMS[:8])},
    {2: 2.0, 3: 2.0},
)
_ODD: tuple[dict[Any, float], ...] = ({1: 0.5}, {1: 5.5})


def ranking(file: bytes, history: dict[Any, float]) -> dict[str, Any]:
    """A list of everything, with its scores to the last bit."""
    vector: dict[str, Any] = {
        "model": file.hex(),
        "history": [[tagged(item), stars] for item, stars in history.items()],
    }
    try:
        rows = DeviceLists.decode(file).rank(history, n=100)
    except ConfigError as error:
        return vector | {"error": "ValueError", "says": str(error)}
    return vector | {"ranked": [[tagged(item), score] for item, score in rows]}


def reasons(file: bytes, history: dict[Any, float]) -> dict[str, Any]:
    """Own items that speak for the first four of the list, with their falls to the last bit."""
    lists = DeviceLists.decode(file)
    items = [item for item, _ in lists.rank(history, n=4)]
    vector = {
        "model": file.hex(),
        "history": [[tagged(item), stars] for item, stars in history.items()],
        "items": [tagged(item) for item in items],
    }
    found = lists.reasons(history, items, n=2)
    return vector | {"reasons": [list(map(_tag_pair, falls)) for falls in found]}


def _tag_pair(pair: tuple[Any, float]) -> list[Any]:
    item, score = pair
    return [tagged(item), score]


def _forged(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same file with another header, and a digest that fits it."""
    size = int.from_bytes(data[8:16], "little")
    content = json.loads(data[16 : 16 + size])
    change(content)
    text = json.dumps(content).encode()
    body = data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size : -32]
    return body + hashlib.sha256(body).digest()


def _says(more: dict[str, Any], content: dict[str, Any]) -> None:
    content["header"].update(more)


def _drop_unit(name: str, content: dict[str, Any]) -> None:
    content["header"]["units"].pop(name)


def _refused() -> list[bytes]:
    taste, top, pairs = MODELS["taste"], MODELS["top-items"], MODELS["taste and pairs"]
    said: list[dict[str, Any]] = [
        {"message": "other"},
        {"version": 2},
        {"mode": "best"},
        {"items": [1] * 10},
        {"items": [True, *ITEMS[1:]]},
        {"context": [1, 2]},
        {"cold": -1},
        {"cold": True},
        {"cold": 11},
        {"cold": 1},
        {"scale": [1.0]},
        {"clip": "2"},
        {"low": None},
        {"units": {}},
    ]
    forged = [_forged(taste, partial(_says, each)) for each in said]
    shapes: list[Any] = [
        lambda content: content["arrays"].pop(),
        lambda content: content["arrays"][0].update(shape=[11]),
        lambda content: content["arrays"][0].update(shape=[2**40]),
        lambda content: content["arrays"][0].update(shape=[-1]),
        lambda content: content["arrays"][0].update(dtype="<f8"),
        lambda content: content["header"]["units"]["items"].pop(),
        lambda content: content["header"]["units"].update(means=[1.0]),
        lambda content: content["header"]["units"].pop("own_likes"),
        lambda content: content["header"]["units"]["own_likes"].pop(),
        lambda content: content.pop("header"),
    ]
    forged += [_forged(data, change) for data in (taste, top) for change in shapes[:5]]
    forged += [_forged(taste, change) for change in shapes[5:]]
    damaged = [b"", taste[:-1], taste[:400] + bytes([taste[400] ^ 1]) + taste[401:]]
    without_units = [_forged(pairs, partial(_drop_unit, name)) for name in ("pairs", "pairs_mean")]
    backwards = container.pack(*_with_pair_items([9, 7, 4, 1, 0]))
    outside = container.pack(*_with_pair_items([0, 1, 4, 7, 10]))
    return [*forged, *damaged, *without_units, backwards, outside, *_refused_pairs_and_sizes()]


def _refused_pairs_and_sizes() -> list[bytes]:
    """Files of pairs whose parts do not fit together, and numbers too large to multiply."""
    header, arrays = container.unpack(MODELS["taste and pairs"])
    places: list[list[int]] = [[0, 1, 4, 7, 7], [-1, 1, 4, 7, 9]]
    changes = [{"pair_items": np.array(each, "<i4")} for each in places]
    changes += [
        {"pair_items": np.zeros(0, "<i4"), "pairs": np.zeros((0, 6), "<i2")},
        {"pairs_mean": arrays["pairs_mean"][:-1]},
        {"pairs": arrays["pairs"][:-1]},
    ]
    files = [container.pack(header, arrays | change) for change in changes]
    cold_header, cold_arrays = container.unpack(MODELS["taste and pairs, cold items"])
    cold_place = {"pair_items": np.array([0, 1, 3, 4, 7], "<i4")}
    files.append(container.pack(cold_header, cold_arrays | cold_place))
    units: list[dict[str, Any]] = [
        {"means": 1e308},
        {"means": 1e98},
        {"damping": -1.0},
        {"pairs": [1e308] * 6},
        {"pairs_mean": 1e95},
        {"items": [1e97, 1.0, 1.0]},
    ]
    headers = [{**header, "units": {**header["units"], **change}} for change in units]
    headers += [{**header, "low": -0.4}, {**header, "clip": 1e101}]
    return files + [container.pack(changed, arrays) for changed in headers]


def _with_pair_items(places: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of the model with pairs, but for the places of their items."""
    header, arrays = container.unpack(MODELS["taste and pairs"])
    return header, {**arrays, "pair_items": np.array(places, "<i4")}


def _none(data: bytes) -> dict[str, Any]:
    try:
        DeviceLists.decode(data)
    except ModelFileError as error:
        return {"model": data.hex(), "error": "MessageError", "says": str(error)}
    raise AssertionError("these bytes were to be refused")


def content() -> dict[str, list[Any]]:
    """Lists of every kind of model, and files that are none."""
    return {
        "rankings": [
            ranking(file, each) for file in MODELS.values() for each in (*_HISTORIES, *_ODD)
        ],
        "reasons": [reasons(file, each) for file in MODELS.values() for each in _HISTORIES],
        "refused": [_none(data) for data in _refused()],
    }
