"""Guesses who was there, from the bytes that everybody may have; and what those bytes are."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from tacit import Private
from tacit.auditing.attacks.membership import Game, control_works, play_game
from tacit.designs.private.audit.membership import GAME_DELTA as DELTA
from tacit.designs.private.audit.membership import GAMES, play_once
from tacit.designs.private.device import DeviceLists
from tacit.profile_sums.audit.worlds import ITEMS, PERSONS, neighbouring_tables


def test_without_noise_the_files_tell_who_was_there():
    """The control, in both modes, from the model file and from the device file."""
    rows = [row for game in GAMES[:2] for row in play_game(game, fits=3)]
    assert control_works(rows)
    assert all(row.auc > 0.7 for row in rows)


@pytest.mark.parametrize("game", GAMES[2:], ids=lambda game: game.method)
def test_with_noise_nothing_is_proved_above_the_claim(game):
    """Of one fit, and of four fits of the same people against their total."""
    rows = play_game(game, fits=4)  # with fewer no guesses would refute the claim of four fits
    assert {row.verdict for row in rows} == {"no violation found"}


def test_a_fit_that_forgets_its_noise_is_caught():
    """Planted: epsilon 1 is claimed and no noise drawn."""
    forgotten = Game("planted", partial(play_once, math.inf, "top-items", 1), 1.0, DELTA)
    assert {row.verdict for row in play_game(forgotten, fits=4)} == {"violation"}


@pytest.mark.parametrize("mode", ["taste", "top-items"])
@pytest.mark.parametrize("person", ["likes two rare items", "alone in a feature"])
def test_the_bytes_have_no_support_of_one_person(mode, person):
    """Who alone rates an item or has a feature: ids, names of arrays, shapes and which entries are
    exactly 0 are the same with and without; the catalogue is given."""
    found = []
    for table in neighbouring_tables(PERSONS[person], people=400):  # 18 deviations from too few
        model = Private(1.0, DELTA, mode=mode).fit(table)
        header, arrays = model.parts()
        device = DeviceLists.decode(model.device_file())
        kept = {name for name in header if name not in ("usefulness", "deviation", "releases")}
        noisy = {"context", "targets", "weights", "items", "directions", "mean"}
        noisy |= {"own_likes", "own_likes_mean"}  # noise decides on the number of directions
        found.append(
            (
                {name: header[name] for name in kept},
                sorted(arrays),
                {name: array.shape for name, array in arrays.items() if name not in noisy},
                {
                    name: (array == 0).tolist()
                    for name, array in arrays.items()
                    if name not in noisy
                },
                list(device.items),
                sorted(device.header["titles"] or ()),
                device.liked_from,
            )
        )
        if mode == "taste":
            assert not (arrays["items"] == 0).any()
            assert not (arrays["directions"] == 0).any()
            assert not (arrays["own_likes"] == 0).any()
            assert not (arrays["own_likes_mean"] == 0).any()
            directions = arrays["directions"].shape[1]
            assert arrays["items"].shape == (ITEMS, directions)
            assert arrays["own_likes"].shape == (directions, directions)
            assert arrays["own_likes_mean"].shape == (directions,)
        assert (arrays["means"] > 0).all()
        assert len(header["items"]) == ITEMS
    assert found[0] == found[1]


def test_a_catalogue_read_off_the_ratings_has_such_a_support():
    """Planted: the item that one person alone rated is in the file with them, and not without; the
    card of that fit is conditional and says so."""
    ids = []
    for table in neighbouring_tables({ITEMS - 1: 5.0}):
        rated = table.compact()
        model = Private(1.0, DELTA).fit(rated)
        ids.append(model.parts()[0]["items"])
        assert "catalogue" in model.fitted_.assumed_public or not rated.catalogue_given
    assert ids[0] != ids[1]


def test_the_same_fit_twice_has_other_noise(world):
    """Two fits of the same rows differ: the noise is drawn anew."""
    one, other = (Private(1.0).fit(world).released_.means for _ in range(2))
    assert not np.isclose(one, other, rtol=1e-9, atol=0).all()
