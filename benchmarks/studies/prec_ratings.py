"""p-REC on a stream made of real ratings: items come up a few at a time, people vote by stars.

Rounds    Items with many ratings, in the order of the middle of their ratings' times, `objects` at
          a time; every item comes up once.
Votes     for the item of a round that a voter gave most stars, one of equals at random. Who rated
          none of them abstains, and p-REC gives them a vote by its public rule.
Clients   are no voters. One takes part in the rounds whose items they have all rated, and liked one
          or more of them but not all: where there is something to choose. Those with most of such
          rounds are not preferred; they are drawn from all who have enough.
Peers     are not planted: whether there are any is what is found out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit import load
from tacit.data.ratings import Ratings
from tacit.designs.prec.experiment.game import METHODS, PRIVATE, Game
from tacit.designs.prec.experiment.methods import ABSTAINS, PLAYERS
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Interval, group_by, mean_interval
from tacit.evaluation.runner import Progress, Runner
from tacit.randomness import simulation

LEAST_ROUNDS = 20
"""Of a client: with fewer there is nothing to learn from."""

Stars = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stream:
    """votes: (rounds, voters); likes: (rounds, clients, objects); asks: (rounds, clients)."""

    votes: NDArray[np.int64]
    likes: NDArray[np.bool_]
    asks: NDArray[np.bool_]


@dataclass(frozen=True)
class StreamRow:
    """One method on one draw of clients.

    radius, diversity: of p-REC's settings, None for others. asked: recommendations, of all clients
    together; disliked: how many of them. loss: the share of these. abstained: share of the votes
    that p-REC had to give. stopped: share of the clients whose gate shut. epsilon: for each
    client's view.
    """

    method: str
    rounds: int
    objects: int
    voters: int
    clients: int
    diversity: int | None
    radius: int | None
    epsilon: float | None
    delta: float | None
    seed: int
    asked: int
    disliked: int
    loss: float
    abstained: float
    stopped: float


def stream(
    ratings: Ratings, *, objects: int, per_item: int, liked_from: float, clients: int, seed: int
) -> Stream:
    """Votes and clients; DataError where the ratings have no times, or too few rounds or people."""
    places = _places(ratings, objects, per_item)
    stars = np.full((ratings.n_users, places.size), np.nan)
    column = np.full(ratings.n_items, -1)
    column[places.ravel()] = np.arange(places.size)
    wanted = column[ratings.items] >= 0
    stars[ratings.users[wanted], column[ratings.items[wanted]]] = ratings.values[wanted]
    stars = stars.reshape(ratings.n_users, *places.shape)
    likes = stars >= liked_from
    asks = ~np.isnan(stars).any(axis=2) & likes.any(axis=2) & ~likes.all(axis=2)
    able = np.flatnonzero(asks.sum(axis=1) >= LEAST_ROUNDS)
    if len(able) < clients:
        raise DataError(
            f"only {len(able)} people rated all items of {LEAST_ROUNDS} rounds and liked some",
            expected=f"{clients} clients",
            fix="Take fewer --clients or --objects, or a smaller --rated-by.",
        )
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(able, clients, replace=False))
    others = np.delete(np.arange(ratings.n_users), chosen)
    votes = _votes(stars[others], rng)
    return Stream(votes.T, likes[chosen].transpose(1, 0, 2), asks[chosen].T)


def _places(ratings: Ratings, objects: int, per_item: int) -> NDArray[np.int64]:
    """(rounds, objects) numbers of the items, in the order of time."""
    if ratings.timestamps is None:
        raise DataError("the ratings have no times", expected="a column such as timestamp")
    many = np.flatnonzero(np.bincount(ratings.items, minlength=ratings.n_items) >= per_item)
    middle = [float(np.median(ratings.timestamps[ratings.items == item])) for item in many]
    ordered = many[np.argsort(middle, kind="stable")]
    rounds = len(ordered) // objects
    if rounds < LEAST_ROUNDS:
        raise DataError(
            f"{len(many)} items have {per_item} ratings or more, which gives {rounds} rounds",
            expected=f"{LEAST_ROUNDS} rounds or more",
            fix="Take a smaller --rated-by, or fewer --objects.",
        )
    return ordered[: rounds * objects].reshape(rounds, objects)


def _votes(stars: Stars, rng: np.random.Generator) -> NDArray[np.int64]:
    """(voters, rounds) from (voters, rounds, objects): the best-rated, one of equals at random."""
    known = ~np.isnan(stars)
    shaken = np.where(known, stars, -np.inf) + rng.random(stars.shape) * 1e-6
    return np.where(known.any(axis=2), shaken.argmax(axis=2), ABSTAINS)


def evaluate_stream(
    ratings: Ratings,
    *,
    methods: Sequence[str] = METHODS,
    objects: int = 2,
    per_item: int = 50,
    liked_from: float = 4.0,
    clients: int = 64,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    radius: Sequence[int] = (0,),
    diversity: int = 0,
    seeds: Iterable[int] = (0,),
    workers: int = 0,
    progress: Progress = lambda _: None,
) -> list[StreamRow]:
    """Every method on the same voters and clients; p-REC at each radius."""
    unknown = set(methods) - set(METHODS)
    if unknown:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {min(unknown)!r}.")
    tasks = []
    asked = {"objects": objects, "clients": clients, "per_item": per_item}
    for seed in seeds:
        made = stream(ratings, **asked, liked_from=liked_from, seed=seed)
        rounds, voters = made.votes.shape
        game = Game(
            rounds, objects, voters, voters, diversity, 0, clients, epsilon=epsilon, delta=delta
        )
        for method in methods:
            allowed = radius if method.startswith("p-rec") else (0,)
            tasks += [(made, replace(game, radius=r), method, seed) for r in allowed]
    with Runner(None, workers=workers) as runner:
        return runner.run(_play, tasks, progress)


def _play(_: None, made: Stream, game: Game, method: str, seed: int) -> StreamRow:
    with simulation():
        ours, disliked = PLAYERS[method](game, seed), 0
        for votes, likes, asks in zip(made.votes, made.likes, made.asks, strict=True):
            wanted = {client: likes[client] for client in np.flatnonzero(asks).tolist()}
            given = ours.play(votes, wanted)
            disliked += sum(
                not liked[chosen] for liked, chosen in zip(wanted.values(), given, strict=True)
            )
    asked = int(made.asks.sum())
    credited, spends = method.startswith("p-rec"), method in PRIVATE and np.isfinite(game.epsilon)
    return StreamRow(
        method=method,
        rounds=game.rounds,
        objects=game.objects,
        voters=game.voters,
        clients=game.clients,
        diversity=game.diversity if credited else None,
        radius=game.radius if credited else None,
        epsilon=game.epsilon if spends else None,
        delta=game.delta if spends else None,
        seed=seed,
        asked=asked,
        disliked=disliked,
        loss=disliked / asked,
        abstained=float((made.votes == ABSTAINS).mean()),
        stopped=sum(ours.stopped_round(c) is not None for c in range(game.clients)) / game.clients,
    )


def stream_points(rows: Iterable[StreamRow]) -> list[tuple[StreamRow, Interval, float]]:
    """A row of each method and radius, its loss over draws of clients, and whose gate shut."""
    groups = group_by(rows, lambda row: (row.method, row.radius))
    return [
        (
            found[0],
            mean_interval([row.loss for row in found], bounds=(0.0, 1.0)),
            sum(row.stopped for row in found) / len(found),
        )
        for found in groups.values()
    ]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ratings", help="a file or folder that tacit reads")
    parser.add_argument("--radius", type=int, nargs="+", default=[0])
    parser.add_argument("--method", nargs="+", choices=METHODS, default=METHODS, dest="methods")
    parser.add_argument("--objects", type=int, default=2)
    parser.add_argument("--rated-by", type=int, default=50, dest="per_item")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=0)
    asked = vars(parser.parse_args(words))
    ratings, seeds = load(asked.pop("ratings")), range(asked.pop("seeds"))
    for row, loss, stopped in stream_points(evaluate_stream(ratings, **asked, seeds=seeds)):
        point = {"method": row.method, "radius": row.radius, "loss": loss, "stopped": stopped}
        print(json.dumps(point | {"row": asdict(row)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
