"""Fits that follow one another on the same people: what they cost together, and a budget for life.

Source     mu^2 adds up: Dong, Roth, Su (2022); also where a later epsilon is chosen in view of
           earlier releases: Smith, Thakurta: Fully adaptive composition for GDP (2022).
Guarantee  For one person's whole profile through all fits: rows of earlier fits and new ones.
Ledger     A data set's budget in zCDP pays rho = mu^2 / 2 of each fit. Charge, noise, model file
           and the list of fits are one transaction. A fit is known by the one before it: the same
           one asked for again gives the stored file, and no new noise. A fit that fails after its
           first sum, or is interrupted, releases nothing, stays charged and counts; the next one
           follows it. A process that is killed releases nothing either, and nothing is charged.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.events import compose
from tacit.accounting.gdp import epsilon_of_mu as epsilon_of
from tacit.designs.private.settings import Settings, event, noise_multipliers, overall
from tacit.errors import ConfigError, PrivacyError
from tacit.recommenders.inputs import load_model

if TYPE_CHECKING:
    from tacit.ledger import Cap, Holder, Ledger

_MICRO = 10**6
_LARGEST = 1e5  # of a lifetime; from near 1e6 on no float holds its mu


@dataclass(frozen=True)
class Fit:
    """One fit: a random name, the noise multipliers of its sums, what it took for public, whether
    it failed and so released nothing."""

    name: str
    noises: tuple[float, ...]
    taken: tuple[str, ...] = field(default=(), compare=False)
    failed: bool = field(default=False, compare=False)

    @classmethod
    def new(cls, settings: Settings, taken: Sequence[str] = ()) -> Fit:
        return cls(secrets.token_hex(8), tuple(noise_multipliers(settings)), tuple(taken))

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Fit:
        """Of a file; earlier versions did not write what was taken."""
        name, noises, *more = row
        taken = more[0] if more else ()
        return cls(str(name), tuple(map(float, noises)), tuple(map(str, taken)), more[1:] == [True])

    @property
    def row(self) -> list[Any]:
        row = [self.name, list(self.noises), list(self.taken)]
        return [*row, True] if self.failed else row

    @property
    def rho(self) -> Fraction:
        """mu^2 / 2, never below the exact one."""
        mu = GDPAccountant().add(compose(*map(event, self.noises))).mu
        return Fraction(mu) ** 2 / 2

    @property
    def steps(self) -> int:
        """The same in millionths, rounded up: what a ledger charges."""
        return math.ceil(self.rho * _MICRO)


@dataclass(frozen=True)
class Standing:
    """Where a data set stands after a fit. epsilon: of this fit alone; total: of all `fits`
    together, at the same delta. lifetime: what all may cost, None without a limit. further: how
    many more like this one fit into it. repeated: it was made before, and nothing was charged."""

    fits: int
    epsilon: float
    total: float
    lifetime: float | None
    further: int | None
    repeated: bool = False


def earlier(previous: Any, lifetime: Any, delta: float) -> tuple[tuple[Fit, ...], float | None]:
    """Fits before, and the lifetime of all. previous: a fitted model, or its file; None: none.

    ConfigError where a lifetime is inherited that was stated at a smaller delta.
    """
    if lifetime is not None:
        number = isinstance(lifetime, Real) and not isinstance(lifetime, bool)
        if not number or not 0 < lifetime < _LARGEST:
            raise ConfigError(f"lifetime is an epsilon above 0 and below 1e5; got {lifetime!r}.")
        lifetime = float(lifetime)
    if previous is None:
        return (), lifetime
    model = load_model(previous) if isinstance(previous, str | Path) else previous
    if not hasattr(model, "releases_"):
        raise ConfigError("previous is a fitted model of the design 'private', or its file.")
    if lifetime is None and model.lifetime_ is not None and delta > model.settings_.delta:
        raise ConfigError(
            f"The lifetime of the fits before holds at delta {model.settings_.delta:g}; got delta "
            f"{delta:g}. Use that delta, or state another lifetime."
        )
    return model.releases_, model.lifetime_ if lifetime is None else lifetime


def united(own: Sequence[Fit], others: Sequence[Fit]) -> tuple[Fit, ...]:
    """All fits of two lists, each once; those of `others` last, unless `own` has them all."""
    if all(fit in own for fit in others):
        return tuple(own)
    return (*(fit for fit in own if fit not in others), *others)


def taken_by(fits: Sequence[Fit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for fit in fits for name in fit.taken))


def from_header(
    header: Mapping[str, Any], settings: Settings, taken: tuple[str, ...]
) -> tuple[tuple[Fit, ...], Any]:
    """Fits and lifetime; a file of before has one fit, its own. taken: by any of them."""
    written = header.get("releases")
    if written is None:
        name = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:16]
        return (Fit(name, tuple(noise_multipliers(settings)), taken),), None
    fits, lifetime = tuple(map(Fit.of_row, written["fits"])), written["lifetime"]
    if not fits or any(not fit.noises or min(fit.noises) < 0 for fit in fits):
        raise ValueError("its list of fits is empty or has negative noise")
    wanted = noise_multipliers(settings)
    if not math.isclose(overall(fits[-1].noises), overall(wanted), rel_tol=1e-5):
        raise ValueError("its last fit has other noise than its settings")
    if taken_by(fits) != taken:  # a file of before names it once, for all fits
        fits = (*fits[:-1], replace(fits[-1], taken=taken))
    return fits, None if lifetime is None else float(lifetime)


def total(fits: Sequence[Fit], delta: float) -> float:
    """Epsilon of all of them together, on the exact curve."""
    accountant = GDPAccountant()
    for fit in fits:
        accountant.add(compose(*map(event, fit.noises)))
    return accountant.epsilon(delta)


def standing(fits: Sequence[Fit], delta: float, lifetime: float | None) -> Standing:
    further = None
    if lifetime is not None:
        most = allowed(lifetime, delta)
        exact = (most - sum(fit.rho for fit in fits)) // fits[-1].rho
        charged = math.ceil(most * _MICRO) - sum(fit.steps for fit in fits)
        further = max(0, min(exact, charged // fits[-1].steps))
    alone, together = total(fits[-1:], delta), total(fits, delta)
    return Standing(len(fits), alone, together, lifetime, further)


def allowed(lifetime: float, delta: float) -> Fraction:
    """rho that (lifetime, delta) leaves for all fits."""
    noise = smallest_noise(event, epsilon=lifetime, delta=delta, accountant=GDPAccountant)
    return Fit("", (noise,)).rho


def each_of(lifetime: float, delta: float, times: int) -> float:
    """The largest epsilon of three digits that so many equal fits may take, each."""
    if times == 1:
        return lifetime
    most = allowed(lifetime, delta)
    exact = epsilon_of(math.sqrt(2 * most / times), delta)
    digits = 2 - math.floor(math.log10(exact))
    down = math.floor(exact * 10.0**digits)
    for epsilon in (round(each * 10.0**-digits, digits) for each in range(down, 0, -1)):
        fit = Fit("", tuple(noise_multipliers(Settings(epsilon, delta))))
        if times * fit.rho <= most and times * fit.steps <= most * _MICRO:
            return epsilon
    raise ConfigError(f"So many fits are too many for epsilon {lifetime:g}: plan fewer.")


def check(before: Sequence[Fit], settings: Settings, lifetime: float | None) -> None:
    """Before anything is drawn: PrivacyError where a lifetime is passed."""
    if lifetime is None:
        return
    _check_noise(before, settings)
    fits = (*before, Fit.new(settings))
    epsilon = total(fits, settings.delta)
    if epsilon > lifetime:
        raise PrivacyError(
            f"With this fit {len(fits)} fits together would cost epsilon {epsilon:.6g} at delta "
            f"{settings.delta:g}; their lifetime allows {lifetime:g}. Nothing was drawn, spent or "
            "written. Use a smaller epsilon, or stop."
        )


def _check_noise(before: Sequence[Fit], settings: Settings) -> None:
    if not settings.private or not all(all(fit.noises) for fit in before):
        raise PrivacyError(
            "A fit without noise, this one or one before it, has no place in a lifetime or a "
            "ledger: nothing limits what it reveals. Nothing was drawn or spent."
        )


@dataclass(frozen=True)
class Account:
    """A data set's budget for life in a ledger."""

    ledger: Ledger
    tenant: str = "tacit"
    dataset: str = "ratings"

    @property
    def holder(self) -> Holder:
        from tacit.ledger import Holder

        return Holder.dataset(self.tenant, self.dataset)

    @property
    def _state(self) -> str:
        names = json.dumps([self.tenant, self.dataset]).encode()
        return f"private/{hashlib.sha256(names).hexdigest()[:32]}"

    def fits(self) -> tuple[Fit, ...]:
        return _read(self.ledger.state(self._state))

    def lifetime(self, given: float | None, delta: float) -> tuple[float, Cap]:
        """Epsilon of all fits, and as a cap in zCDP; or ConfigError. None for an open budget's."""
        from tacit.ledger import Cap, Unit, UnknownBudget
        from tacit.ledger.refusals import CapChanged, UnitsDiffer

        amount = None if given is None else math.ceil(allowed(given, delta) * _MICRO)
        try:
            cap = self.ledger.balance(self.holder).cap
        except UnknownBudget:
            if given is None or amount is None:
                raise ConfigError(
                    "This data set has no budget in the ledger yet. Say what all its fits may cost "
                    "together: --lifetime EPSILON (from Python: lifetime=...)."
                ) from None
            return given, Cap(Unit.ZCDP, amount)
        if cap.unit is not Unit.ZCDP:
            raise UnitsDiffer
        if given is None:
            return epsilon_of(math.sqrt(2 * cap.amount / _MICRO), delta), cap
        if amount != cap.amount:
            raise CapChanged
        return given, cap

    def release(
        self,
        before: Sequence[Fit],
        settings: Settings,
        asked: Mapping[str, Any],
        lifetime: float | None,
        make: Callable[[tuple[Fit, ...]], bytes],
        taken: Sequence[str] = (),
    ) -> tuple[bytes, bool]:
        """The model file, and whether it was made before.

        asked: what else the fit depends on, without the ratings; only its hash is kept, and a
        digest of ratings would be a release. make: from all fits, the new one last, to the file.
        PrivacyError or ConfigError: nothing is released.
        """
        from tacit.ledger import Charge, Cost, KeyReused, Request, Unit, canonical

        _check_noise(before, settings)
        limit, cap = self.lifetime(lifetime, settings.delta)
        known = self.fits()
        missing = [fit for fit in before if fit not in known]
        last, repeats = _place(before, known)
        if not repeats:
            check((*missing, *known), settings, limit)
        stopped: list[BaseException] = []

        def draw(_: Any, state: bytes | None) -> tuple[bytes, bytes]:
            now = _read(state)
            fits = (*(fit for fit in missing if fit not in now), *now, fresh)
            try:
                check(fits[:-1], settings, limit)  # others may have been faster
                return make(fits), _written(fits)
            except BaseException as error:  # what it says may hold data
                if not isinstance(error, Exception):
                    stopped.append(error)  # someone stops the program: once the charge is written
                return b"", _written((*fits[:-1], replace(fresh, failed=True)))

        fresh = Fit.new(settings, taken)
        cost = sum(fit.steps for fit in (*missing, fresh))
        key = "first fit" if last is None else f"fit after {last.name}"
        request = Request(self.tenant, self.dataset, "private-fit", key, canonical(asked))
        try:
            made = self.ledger.release(
                request, [Charge(self.holder, Cost(Unit.ZCDP, cost), cap)], draw, state=self._state
            )
        except KeyReused:
            raise ConfigError(
                "The ledger holds another fit after this one. Give the newest model as --previous "
                "(from Python: previous=...). Nothing was drawn or spent."
            ) from None
        if stopped:
            raise stopped[0]
        if not made.answer:
            raise PrivacyError(
                "The fit failed after its first sum. Nothing was released; it stays charged, for "
                "noise was drawn. Mend the cause and ask again: that is a further fit."
            )
        return made.answer, made.repeated


def _place(before: Sequence[Fit], known: Sequence[Fit]) -> tuple[Fit | None, bool]:
    """The fit that a new one follows, None for the first; and whether one follows it already.

    It is the last of `before`, or the last of those that failed directly after that one.
    """
    last = before[-1] if before else None
    if last is not None and last not in known:
        return last, False
    at = 0 if last is None else known.index(last) + 1
    while at < len(known) and known[at].failed:
        last, at = known[at], at + 1
    return last, at < len(known)


def _read(state: bytes | None) -> tuple[Fit, ...]:
    return tuple(map(Fit.of_row, json.loads(state or b"[]")))


def _written(fits: Sequence[Fit]) -> bytes:
    return json.dumps([fit.row for fit in fits]).encode()
