"""The game of who was in the rows: guesses from the bytes that everybody may have.

Knows   everybody else's rows but the other targets', what each target rated, and how fits are
        made: every score is compared with that of the same fit without noise of the others.
Sees    the model file, the device file, or those of several fits.
Feeds   on rare items: targets rate at random what others hardly rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.auditing.attacks.membership import Game, Round, membership_study
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.private.device import DeviceLists
from tacit.designs.private.model import Private
from tacit.profile_sums.fits import Fit, total_epsilon
from tacit.profile_sums.settings import Mode, Settings

ITEMS, GENRES = 60, 6
PEOPLE = 120
"""People who are always in."""
TARGETS = 60
"""People who are in by the toss of a coin."""
LIKES_PER_PERSON = 8
GAME_DELTA = 1e-10
"""Far below the chance of a false alarm, or what is due to delta could explain every guess."""

Likes = NDArray[np.int64]
ScoreItems = Callable[[Mapping[Any, float]], Sequence[float]]
"""From a history to the score of every item, by one file."""


def play_once(epsilon: float, mode: Mode, fits: int, generator: np.random.Generator) -> Round:
    """Make one world and `fits` fits of the same people, each after the one before.

    Returns:
        (targets,) 1 for who was in; and by the files that the attacker sees, (targets,) scores.
    """
    popularity = 1 / (1 + np.arange(ITEMS))
    others = _draw_people(generator, PEOPLE, popularity)
    targets = _draw_people(generator, TARGETS, np.ones(ITEMS))
    inside = generator.random(TARGETS) < 0.5
    members = [targets[place] for place in np.flatnonzero(inside)]
    ratings = _make_ratings([*others, *members])
    models = [Private(epsilon, GAME_DELTA, mode=mode).fit(ratings)]
    while len(models) < fits:
        refit = Private(epsilon, GAME_DELTA, mode=mode, previous=models[-1])
        models.append(refit.fit(ratings))
    without_targets = _score_by_model_file(Private(math.inf, mode=mode).fit(_make_ratings(others)))
    seen: dict[str, list[ScoreItems]] = {
        "model files": [_score_by_model_file(model) for model in models],
        "device files": [DeviceLists.decode(model.device_file()).scores for model in models],
    }
    scores = {}
    for name, files in seen.items():
        scores[name] = np.array([_membership_score(files, without_targets, own) for own in targets])
    return Round(inside.astype(np.int64), scores)


def _membership_score(
    files: Sequence[ScoreItems], without_targets: ScoreItems, own: Likes
) -> float:
    """Measure how much better the files place each of a person's items for the person's others."""
    gains = []
    for item in own.tolist():
        history = {int(other): 5.0 for other in own if other != item}
        expected = without_targets(history)[item]
        gains += [scores(history)[item] - expected for scores in files]
    return float(np.mean(gains))


def _score_by_model_file(model: Private) -> ScoreItems:
    """Write a model file and read it, as the attacker does."""
    loaded = Private.from_parts(*container.unpack(container.pack(*model.parts())))
    all_items = list(range(ITEMS))
    return lambda history: loaded.predict(all_items, history=history).tolist()


def _draw_people(
    generator: np.random.Generator, people: int, weights: NDArray[np.float64]
) -> list[Likes]:
    """Draw likes by the weights of items."""
    chances = weights / weights.sum()
    rows = []
    for _ in range(people):
        likes = generator.choice(ITEMS, LIKES_PER_PERSON, replace=False, p=chances)
        rows.append(np.sort(likes))
    return rows


def _make_ratings(rows: Sequence[Likes]) -> Ratings:
    """Ratings on one public catalogue; every one is a like."""
    users = np.repeat(np.arange(len(rows)), LIKES_PER_PERSON)
    stars = np.full(len(users), 5.0)
    ratings = Ratings.from_arrays(users, np.concatenate(rows), stars, scale=RatingScale(1, 5, 1))
    genres = {item: f"g{item % GENRES}" for item in range(ITEMS)}
    return on_catalogue(ratings, dict.fromkeys(range(ITEMS)), metadata={"genres": genres})


def _games() -> tuple[Game, ...]:
    """Controls, in which the attack has to work; guarantees, under which it has to fail."""
    modes: tuple[Mode, ...] = ("taste", "top-items")
    controls = [Game(f"{mode}, no noise", partial(play_once, math.inf, mode, 1)) for mode in modes]
    claims = [
        Game(f"{mode}, epsilon 1", partial(play_once, 1.0, mode, 1), 1.0, GAME_DELTA)
        for mode in modes
    ]
    fits = 4
    total = total_epsilon([Fit.with_random_name(Settings(1.0, GAME_DELTA))] * fits, GAME_DELTA)
    refits = Game(
        f"top-items, {fits} fits of epsilon 1",
        partial(play_once, 1.0, "top-items", fits),
        total,
        GAME_DELTA,
    )
    return (*controls, *claims, refits)


GAMES = _games()
STUDY = membership_study(lambda: GAMES, "model", "from")
