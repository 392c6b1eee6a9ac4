"""The design on the audit's bench: pairs of neighbours in both modes, in one domain and across two.

The game of who was in the rows: guesses from the bytes that everybody may have.

Knows   everybody else's rows but the other targets', what each target rated, and how fits are
        made: the same fit without noise of the others stands beside every score.
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
from tacit.auditing.attacks.membership import Game, Scored, study
from tacit.auditing.claims import AuditedClaim, AuditPlan
from tacit.auditing.replays import replay_check
from tacit.data.domains import on_catalogue
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.private.audit.worlds import (
    BUGS,
    DELTA,
    EPSILON,
    PERSONS,
    WORLDS,
    World,
    answers,
    tables,
)
from tacit.designs.private.device import DeviceLists
from tacit.designs.private.model import Private
from tacit.designs.private.releases import Fit, total
from tacit.designs.private.settings import Mode, Settings

ITEMS, GENRES, PEOPLE, TARGETS, RATED = 60, 6, 120, 60, 8
"""Items, features, people who are always in, targets, likes of each person."""
GAME_DELTA = 1e-10
"""Far below the chance of a false alarm, or what is due to delta could explain every guess."""

Likes = NDArray[np.int64]
ScoresOf = Callable[[Mapping[Any, float]], Sequence[float]]


def once(epsilon: float, mode: Mode, refits: int, generator: np.random.Generator) -> Scored:
    """One world; `refits` fits of the same people, each after the one before."""
    fame = 1 / (1 + np.arange(ITEMS))
    others = _people(generator, PEOPLE, fame)
    targets = _people(generator, TARGETS, np.ones(ITEMS))
    inside = generator.random(TARGETS) < 0.5
    ratings = _ratings([*others, *(targets[place] for place in np.flatnonzero(inside))])
    models = [Private(epsilon, GAME_DELTA, mode=mode).fit(ratings)]
    while len(models) < refits:
        again = Private(epsilon, GAME_DELTA, mode=mode, previous=models[-1])
        models.append(again.fit(ratings))
    without = _model_file(Private(math.inf, mode=mode).fit(_ratings(others)))
    seen: dict[str, list[ScoresOf]] = {
        "model files": [_model_file(model) for model in models],
        "device files": [DeviceLists.decode(model.device_file()).scores for model in models],
    }
    return inside.astype(np.int64), {
        name: np.array([_score(files, without, own) for own in targets])
        for name, files in seen.items()
    }


def _score(files: Sequence[ScoresOf], without: ScoresOf, own: Likes) -> float:
    """How much better the files place each of a person's items for the person's others."""
    gained = []
    for item in own.tolist():
        history = {int(other): 5.0 for other in own if other != item}
        usual = without(history)[item]
        gained += [scores(history)[item] - usual for scores in files]
    return float(np.mean(gained))


def _model_file(model: Private) -> ScoresOf:
    read = Private.from_parts(*container.unpack(container.pack(*model.parts())))
    everything = list(range(ITEMS))
    return lambda history: read.predict(everything, history=history).tolist()


def _people(generator: np.random.Generator, people: int, chances: Any) -> list[Likes]:
    share = chances / chances.sum()
    return [np.sort(generator.choice(ITEMS, RATED, replace=False, p=share)) for _ in range(people)]


def _ratings(rows: Sequence[Likes]) -> Ratings:
    """On one public catalogue; every rating is a like."""
    users = np.repeat(np.arange(len(rows)), RATED)
    likes = np.full(len(users), 5.0)
    made = Ratings.from_arrays(users, np.concatenate(rows), likes, scale=RatingScale(1, 5, 1))
    genres = {item: f"g{item % GENRES}" for item in range(ITEMS)}
    return on_catalogue(made, dict.fromkeys(range(ITEMS)), metadata={"genres": genres})


_MODES: tuple[Mode, ...] = ("taste", "top-items")
_REFITS = 4
_REFITTED = partial(once, 1.0, "top-items", _REFITS)
_TOTAL = total([Fit.new(Settings(1.0, GAME_DELTA))] * _REFITS, GAME_DELTA)
GAMES = (
    *(Game(f"{mode}, no noise", partial(once, math.inf, mode, 1)) for mode in _MODES),
    *(Game(f"{mode}, epsilon 1", partial(once, 1.0, mode, 1), 1.0, GAME_DELTA) for mode in _MODES),
    Game(f"top-items, {_REFITS} fits of epsilon 1", _REFITTED, _TOTAL, GAME_DELTA),
)
"""The controls, in which the attack has to work, and the guarantee, under which it has to fail."""

STUDY = study(lambda: GAMES, "model", "from")

_SHARES = {"likes two rare items": (12, 8)}  # entries sampled, and one sample of so many


def line(world: World) -> AuditedClaim:
    """Every person who comes or goes, in one way to fit."""
    checks = []
    for name, person in PERSONS.items():
        entries, share = _SHARES.get(name, (1, 1_000))
        checks.append(
            replay_check(
                name, world.fit, tables(person),
                entries=entries, share=share, delta=DELTA, noise=answers(factors=world.factors),
            )
        )  # fmt: skip
    return AuditedClaim(world.name, EPSILON, tuple(checks), delta=DELTA)


BENCH: tuple[Callable[[], AuditedClaim], ...] = tuple(partial(line, world) for world in WORLDS)


def audit() -> AuditPlan:
    return AuditPlan(
        {"": BENCH},
        BUGS,
        studies=(STUDY,),
        conclusion="No violation was found, and that is no proof.",
        after="tacit guarantee private --epsilon 1  reads what is promised.",
    )
