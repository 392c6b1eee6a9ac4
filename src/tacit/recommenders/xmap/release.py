"""The sound variant: a few noisy sums over people, and from them everything about items.

Source       the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014); the sweeps:
             Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: Private alternating least squares
             (ICML 2021). What differs, and why, is said in docs/decisions.
Runs at      the platform.
Sees         all ratings.
Releases     an `ItemModel`, and the sums it is made of.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: every sum clips what
             one person adds, all of it together, and `events` lists them all. The number of people
             is itself released with noise. A person's own list uses her own ratings in the clear,
             so lists are protected jointly: what others see says this little about her.
Assumptions  the catalogue and the rating scale are public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import ZCDPAccountant, smallest_noise
from tacit.accounting.events import Composed, Event, Gaussian, NonPrivate
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import Contributions, SumRelease
from tacit.recommenders.xmap.denoising import (
    along_popularity,
    head_factors,
    shrunk,
    spread_of,
    water_filling,
)
from tacit.recommenders.xmap.item_model import ItemModel

Floats = NDArray[np.float64]
_BLOCK = 4096  # people at once


@dataclass(frozen=True)
class Settings:
    """Public choices, made on generated data; none may come from the ratings themselves.

    factors: latent tastes. head: items in the Gram matrix. usual_ratings: of one person; who has
    more is clipped. noise, mildness, taste: variances in a scale of five stars, of one rating, of
    how mildly people judge, of what tastes add. counts, means, scale, gram, sweeps: shares of the
    budget (rho).
    """

    factors: int = 10
    head: int = 50
    usual_ratings: float = 30.0
    noise: float = 0.6
    mildness: float = 0.2
    taste: float = 0.4
    clip_sweep: float = 0.6
    counts: float = 0.04
    means: float = 0.2
    scale: float = 0.01
    gram: float = 0.25
    sweeps: tuple[float, ...] = (0.15, 0.35)

    def __post_init__(self) -> None:
        if self.factors < 1 or self.head < 2:
            raise ConfigError("The release needs one factor and two items in the head, or more.")
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if not (math.isfinite(number) and number > 0):
                    raise ConfigError(f"{field.name} is above 0; got {value}.")
        if abs(math.fsum(self.shares) - 1) > 1e-9:
            raise ConfigError(f"The shares add up to 1; got {math.fsum(self.shares):g}.")

    @property
    def shares(self) -> tuple[float, ...]:
        """Of rho, in the order of the releases."""
        return (self.counts, self.means, self.scale, self.gram, *self.sweeps)


def events(settings: Settings, epsilon: float, delta: float) -> tuple[Event, ...]:
    """What `release` costs one person, one event for each of its sums."""
    return tuple(
        Gaussian(noise) if noise else NonPrivate() for noise in _noises(settings, epsilon, delta)
    )


def release(
    ratings: Ratings, *, epsilon: float, delta: float, settings: Settings | None = None
) -> ItemModel:
    """Items from everybody's ratings. epsilon: nats; inf: the twin, nothing clipped, no noise."""
    chosen = settings or Settings()
    noises = _noises(chosen, epsilon, delta)
    run = _Run(ratings, chosen)
    counts = run.counts(noises[0])
    means, spreads, counts, people = run.means(noises[1], counts)
    state = run.head(noises[2], noises[3], _State(means, spreads, counts, people))
    for noise in noises[4:]:
        state = run.sweep(noise, state)
    return run.model(state)


def _noises(settings: Settings, epsilon: float, delta: float) -> tuple[float, ...]:
    """Noise multipliers: the whole costs as much as one Gaussian of rho = the shares' sum."""
    if math.isinf(epsilon) and epsilon > 0:
        return (0.0,) * len(settings.shares)
    if not (epsilon > 0 and 0 < delta < 1):
        raise ConfigError(
            f"epsilon is above 0 (or inf), delta between 0 and 1; got {epsilon}, {delta}."
        )

    def whole(noise: float) -> Event:
        parts = tuple((Gaussian(noise / math.sqrt(share)), 1) for share in settings.shares)
        return Composed(parts)

    noise = smallest_noise(whole, epsilon=epsilon, delta=delta, accountant=ZCDPAccountant)
    return tuple(noise / math.sqrt(share) for share in settings.shares)


@dataclass(frozen=True, eq=False)
class _State:
    """All that has been released so far. Nothing in here is private."""

    means: Floats
    mean_variances: Floats
    counts: Floats
    people: float
    factors: Floats | None = None
    factor_variances: Floats | None = None


@dataclass(frozen=True)
class _Run:
    ratings: Ratings
    settings: Settings

    @property
    def unit(self) -> float:
        """Stars per star of a scale of five."""
        return self.ratings.scale.span / 4

    @property
    def middle(self) -> float:
        return self.ratings.scale.minimum + self.ratings.scale.span / 2

    def blocks(self) -> Iterator[Ratings]:
        """Some people at once, under numbers of their own."""
        for start in range(0, self.ratings.n_users, _BLOCK):
            stop = min(start + _BLOCK, self.ratings.n_users)
            yield self.ratings.of_users(np.arange(start, stop))

    def counts(self, noise: float) -> Floats:
        norm = math.sqrt(self.settings.usual_ratings)
        release = SumRelease(noise, self.ratings.n_items, norm=norm)
        total = release(
            Contributions(self.ratings.users, self.ratings.items, np.ones((len(self.ratings), 1)))
            for _ in range(1)
        )[:, 0]
        return np.maximum(total, max(1.0, release.deviation if noise else 1.0))

    def means(self, noise: float, counts: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Each person's stars around her own mean, and a second count, better for rare items."""
        r, items = self.ratings, self.ratings.n_items
        usual = self.settings.usual_ratings
        people = counts.sum() / usual
        variance = 0.9 * self.unit**2
        half = 0.5 * self.unit  # weight of counting
        size = math.sqrt(usual / counts.sum() * (variance + half**2))
        worth = math.inf if noise == 0 else 0.25 * self.unit**2 / (noise * size) ** 2
        weights = water_filling(counts, worth)
        beta = 0.3 * size  # of the row that counts people
        release = SumRelease(noise, items + 1, 2, norm=0.9 * size, resolution=_step(size))
        own = np.bincount(r.users, r.values, r.n_users) / np.maximum(np.diff(r.offsets), 1)
        rated = np.flatnonzero(np.diff(r.offsets))
        places = np.concatenate([r.items, np.full(len(rated), items)])
        owners = np.concatenate([r.users, rated])
        w = weights[r.items]
        values = np.concatenate(
            [
                np.stack([half * w, w * (r.values - own[r.users])], axis=1),
                beta * np.stack([np.ones(len(rated)), (own[rated] - self.middle)], axis=1),
            ]
        )
        order = np.lexsort((places, owners))
        total = release([Contributions(owners[order], places[order], values[order])])
        people = max(1.0, total[-1, 0] / beta)
        level = self.middle + total[-1, 1] / beta / people
        used = weights > 0
        safe = np.where(used, weights, 1)
        again = total[:-1, 0] / (half * safe)
        doubt = np.where(used, (release.deviation / (half * safe)) ** 2, np.inf)
        first = _deviation(noise, self.settings.counts, self.settings.means, usual)
        ratio = max(again[used].sum(), 1.0) / counts[used].sum()
        before, sure = counts * ratio, np.maximum((first * ratio) ** 2, 1e-12)
        if noise:
            both = np.where(used, again / doubt, 0) + before / sure
            better = both / (np.where(used, 1 / doubt, 0) + 1 / sure)
            unsure = 1 / (np.where(used, 1 / doubt, 0) + 1 / sure)
        else:
            better, unsure = again, np.zeros(items)
        better = np.maximum(better, np.maximum(1.0, 0.7 * np.sqrt(unsure)))
        found = np.where(used, total[:-1, 1] / safe / better, 0)
        error = np.where(
            used,
            (release.deviation / (safe * better)) ** 2
            + (variance + found**2 * unsure / better) / better,
            1e6,
        )
        least = 0.02 * self.unit**2
        line = along_popularity(found, error, better, least)
        spread = spread_of(found, error, line, least)
        estimate = shrunk(found, error, line, spread)
        return level + estimate.values, estimate.variances, better, people

    def head(self, noise_scale: float, noise: float, state: _State) -> _State:
        r, s = self.ratings, self.settings
        chosen = np.sort(np.argsort(-state.counts, kind="stable")[: s.head])
        size = len(chosen)
        usual = state.counts[chosen].sum() / state.people  # ratings a person has in the head
        variance = 0.8 * self.unit**2
        norm = math.sqrt(max(1.0, usual) * variance)
        mechanism = GramRelease(noise, size, norm, _step(norm))
        place = np.full(r.n_items, -1)
        place[chosen] = np.arange(size)
        offsets = self._around(state)
        inside = place[r.items] >= 0
        rows = np.zeros((r.n_users, size))
        rows[r.users[inside], place[r.items[inside]]] = offsets[inside]
        gram = mechanism(rows)
        lengths = np.linalg.norm(rows, axis=1)
        kept = 1.0 if noise == 0 else np.minimum(1, norm / np.maximum(lengths, 1e-12)) ** 2
        number = np.bincount(r.users[inside], minlength=r.n_users)
        pairs = kept * number * (number - 1.0)
        cap = max(1.0, 3 * usual**2)
        total = SumRelease(noise_scale, 1, norm=cap, resolution=_step(cap))(
            [Contributions(np.arange(r.n_users), np.zeros(r.n_users, int), pairs[:, None])]
        )[0, 0]
        n = state.counts[chosen]
        scale = max(total, 1.0) / (n.sum() ** 2 - (n**2).sum())
        chance = math.sqrt(scale) * n.mean() * 0.7 * self.unit**2
        deviation = math.hypot(mechanism.sigma * mechanism.resolution**2 / math.sqrt(2), chance)
        factors = np.zeros((r.n_items, s.factors))
        factors[chosen] = head_factors(gram, s.factors, deviation) / n[:, None] / math.sqrt(scale)
        prior = s.taste * self.unit**2 / s.factors
        unknown = np.full(r.n_items, prior)
        known = (factors[chosen] ** 2).mean(axis=1)
        unknown[chosen] = np.maximum(prior - known, 0.15 * prior)
        return _State(
            state.means, state.mean_variances, state.counts, state.people, factors, unknown
        )

    def _around(self, state: _State) -> Floats:
        """Stars around the item's mean and the person's own mildness."""
        r, s = self.ratings, self.settings
        rest = r.values - state.means[r.items]
        number = np.diff(r.offsets)
        mild = np.bincount(r.users, rest, r.n_users) / (number + s.noise / s.mildness)
        return np.asarray(rest - mild[r.users])

    def model(self, state: _State) -> ItemModel:
        assert state.factors is not None
        assert state.factor_variances is not None
        s = self.settings
        return ItemModel(
            means=state.means,
            factors=state.factors,
            variances=s.noise * self.unit**2
            + s.factors * state.factor_variances
            + state.mean_variances,
            counts=state.counts,
            mildness=s.mildness * self.unit**2,
            scale=(self.ratings.scale.minimum, self.ratings.scale.maximum),
        )

    def sweep(self, noise: float, state: _State) -> _State:
        r, d = self.ratings, self.settings.factors
        model = self.model(state)
        assert state.factors is not None
        assert state.factor_variances is not None
        moment = self._typical(model, state)
        trace = d * moment
        variance = 0.8 * self.unit**2
        size = math.sqrt(variance / state.people * (moment + trace))
        prior = float(np.median(state.factor_variances))
        worth = math.inf if noise == 0 else prior * moment**2 / (noise * size) ** 2
        weights = water_filling(state.counts, worth)
        beta = 0.1 * size / (self.settings.usual_ratings * max(trace, 1e-9))
        norm = self.settings.clip_sweep * size
        release = SumRelease(noise, r.n_items + d + 1, d + 1, norm, _step(norm))
        parts = (0, math.sqrt(moment))
        total = release(self._contributions(model, weights, parts[1], beta))
        items, shared = total[: r.n_items], total[r.n_items :] / beta
        kept = max(shared[0, 0], 1.0) / state.counts.sum()
        second = (shared[1:, 1:] + shared[1:, 1:].T) / 2 / max(shared[0, 0], 1.0)
        return self._updated(state, items, weights, parts[1], release.deviation, kept, second)

    def _typical(self, model: ItemModel, state: _State) -> float:
        """Mean square of a known taste, from released numbers: what the ratings of a person whose
        items are drawn by the counts tell about it."""
        assert state.factors is not None
        share = state.counts / state.people
        inform = (model.factors * (share / model.variances)[:, None]).T @ model.factors
        known = np.linalg.eigvalsh(inform)
        return max(float(np.mean(known / (1 + known))), 0.01)

    def _contributions(
        self, model: ItemModel, weights: Floats, mean_weight: float, beta: float
    ) -> Iterator[Contributions]:
        items, d = self.ratings.n_items, self.settings.factors
        loadings = model.loadings
        for number, block in enumerate(self.blocks()):
            matrix = block.matrix
            x, cov = model.persons(matrix)
            mine = loadings[block.items]
            turned = np.einsum("rij,rj->ri", cov[block.users], mine)
            lever = (turned * mine).sum(axis=1)
            rest = block.values - model.means[block.items] - (x[block.users] * mine).sum(axis=1)
            left = np.maximum(model.variances[block.items] - lever, 1e-3)
            without = x[block.users] - turned * (rest / left)[:, None]
            y = block.values - model.means[block.items] - (without * mine).sum(axis=1)
            z = without[:, 1:]
            w = weights[block.items]
            own = (w * y)[:, None] * np.hstack([np.full((len(y), 1), mean_weight), z])
            ones = np.hstack([np.ones((len(z), 1)), z])
            moments = np.zeros((block.n_users, d + 1, d + 1))
            np.add.at(moments, block.users, ones[:, :, None] * ones[:, None, :])
            people = np.concatenate([block.users, np.repeat(np.arange(block.n_users), d + 1)])
            places = np.concatenate(
                [block.items, np.tile(np.arange(items, items + d + 1), block.n_users)]
            )
            values = np.concatenate([own, beta * moments.reshape(-1, d + 1)])
            order = np.lexsort((places, people))
            yield Contributions(people[order] + number * _BLOCK, places[order], values[order])

    def _updated(
        self,
        state: _State,
        items: Floats,
        weights: Floats,
        mean_weight: float,
        deviation: float,
        kept: float,
        second: Floats,
    ) -> _State:
        assert state.factors is not None
        assert state.factor_variances is not None
        used = weights > 0
        safe = np.where(used, weights, 1) * state.counts * kept
        chance = self.settings.noise * self.unit**2 / (state.counts * kept)
        seen = np.where(used, (deviation / (safe * mean_weight)) ** 2 + chance, np.inf)
        mean = shrunk(
            state.means + items[:, 0] / (safe * mean_weight),
            seen,
            state.means,
            state.mean_variances,
        )
        values, vectors = np.linalg.eigh(second)
        values = np.maximum(values, 1e-4)
        moved = (items[:, 1:] / safe[:, None]) @ vectors / values
        error = ((deviation / safe) ** 2)[:, None] / values**2 + chance[:, None] / values
        step = shrunk(
            moved,
            np.where(used[:, None], error, np.inf),
            np.zeros_like(moved),
            state.factor_variances[:, None],
        )
        return _State(
            mean.values,
            mean.variances,
            state.counts,
            state.people,
            state.factors + step.values @ vectors.T,
            step.variances.mean(axis=1),
        )


def _step(size: float) -> float:
    """A power of two near size / 2^12."""
    return 2.0 ** math.floor(math.log2(size) - 12)


def _deviation(noise: float, counts: float, means: float, usual: float) -> float:
    """Of the first counts, from the noise multiplier of the second and the two shares."""
    return noise * math.sqrt(means / counts) * math.sqrt(usual)
