"""A game of membership inference: an attacker guesses from published files who is in the fits.

Some people, the members of the background, are in every fit. Each target is in or out by the toss
of a fair coin. The attacker gives each target a score; high scores are guesses that they are in.

Knows   the rows of the background, what each target rated, and how fits are made. The attacker
        compares each score by a published file with the score by a fit to the background alone,
        without noise.
Sees    the model files of one fit or of several, or the device files.
Uses    rare items: targets rate items uniformly at random, so they also rate items that the
        background hardly rates.
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
"""Numbers of items and genres of the catalogue."""
PEOPLE = 120
"""Number of people in the background, who are in every fit."""
TARGETS = 60
"""Number of targets. A fair coin decides for each of them: in every fit, or in none."""
LIKES_PER_PERSON = 8
"""Number of items that each person rates, all with five stars."""
GAME_DELTA = 1e-10
"""Delta of the fits. It is far below the audit's chance of a false alarm; a larger delta
alone, without epsilon, could explain all right guesses."""

Likes = NDArray[np.int64]
"""(LIKES_PER_PERSON,) numbers of the items that a person likes, ascending."""
ScoreItems = Callable[[Mapping[Any, float]], Sequence[float]]
"""Function from a history, stars by item number, to (ITEMS,) scores, as one published file gives
them."""


def play_once(epsilon: float, mode: Mode, fits: int, generator: np.random.Generator) -> Round:
    """Draw people, fit to them, and score the targets.

    Args:
        epsilon: Epsilon of each fit; infinity: no noise.
        mode: How lists are made, as for `Private`.
        fits: Number of fits to the same people, each with the one before as `previous`.
        generator: Draws the people, and which targets are in the fits; not the noise of the fits.

    Returns:
        Who was in, and for each kind of file that an attacker may see, the scores of the targets.
    """
    popularity = 1 / (1 + np.arange(ITEMS))
    background = _draw_people(generator, PEOPLE, popularity)
    targets = _draw_people(generator, TARGETS, np.ones(ITEMS))
    is_member = generator.random(TARGETS) < 0.5
    members = [targets[number] for number in np.flatnonzero(is_member)]
    ratings = _make_ratings([*background, *members])
    models = [Private(epsilon, GAME_DELTA, mode=mode).fit(ratings)]
    while len(models) < fits:
        refit = Private(epsilon, GAME_DELTA, mode=mode, previous=models[-1])
        models.append(refit.fit(ratings))
    background_model = Private(math.inf, mode=mode).fit(_make_ratings(background))
    score_without_targets = _score_by_model_file(background_model)
    files_by_kind: dict[str, list[ScoreItems]] = {
        "model files": [_score_by_model_file(model) for model in models],
        "device files": [DeviceLists.decode(model.device_file()).scores for model in models],
    }
    scores = {}
    for kind, files in files_by_kind.items():
        scores_of_targets = [
            _membership_score(files, score_without_targets, likes) for likes in targets
        ]
        scores[kind] = np.array(scores_of_targets)
    return Round(is_member.astype(np.int64), scores)


def _membership_score(
    files: Sequence[ScoreItems], score_without_targets: ScoreItems, likes: Likes
) -> float:
    """Return how much higher a target's items score by published files than without targets.

    Each of the target's items is scored from a history of the target's other items, by the files
    and by the fit without targets. The differences are averaged over items and files.

    Args:
        files: Scores by each published file that the attacker sees.
        score_without_targets: Scores by the fit to the background alone, without noise.
        likes: The target's items.
    """
    gains = []
    for item in likes.tolist():
        history = {int(other): 5.0 for other in likes if other != item}
        expected = score_without_targets(history)[item]
        gains += [score_items(history)[item] - expected for score_items in files]
    return float(np.mean(gains))


def _score_by_model_file(model: Private) -> ScoreItems:
    """Write the model's file and read it as an attacker does; return how it scores items."""
    loaded = Private.from_parts(*container.unpack(container.pack(*model.parts())))
    all_items = list(range(ITEMS))
    return lambda history: loaded.predict(all_items, history=history).tolist()


def _draw_people(
    generator: np.random.Generator, people: int, weights: NDArray[np.float64]
) -> list[Likes]:
    """Draw the likes of each of `people` people.

    Each person likes LIKES_PER_PERSON different items, drawn by the (ITEMS,) weights.
    """
    chances = weights / weights.sum()
    rows = []
    for _ in range(people):
        likes = generator.choice(ITEMS, LIKES_PER_PERSON, replace=False, p=chances)
        rows.append(np.sort(likes))
    return rows


def _make_ratings(rows: Sequence[Likes]) -> Ratings:
    """Give five stars to each item that a person likes, with all items as a public catalogue."""
    users = np.repeat(np.arange(len(rows)), LIKES_PER_PERSON)
    stars = np.full(len(users), 5.0)
    ratings = Ratings.from_arrays(users, np.concatenate(rows), stars, scale=RatingScale(1, 5, 1))
    genres = {item: f"g{item % GENRES}" for item in range(ITEMS)}
    return on_catalogue(ratings, dict.fromkeys(range(ITEMS)), metadata={"genres": genres})


def _games() -> tuple[Game, ...]:
    """Return games without noise, where the attack has to succeed, and games with noise.

    With noise, the attack must not be better than epsilon allows.
    """
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
