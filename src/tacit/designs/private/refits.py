"""Fits that follow one another on the same people, under one budget for life.

Source     Smith, Thakurta: Fully adaptive composition for GDP (2022), for epsilons that are chosen
           in view of earlier releases.
Guarantee  For one person's whole profile over all fits: ratings that earlier fits used, and new
           ones.
Ledger     A data set's budget in gdp pays rho = mu^2 / 2 of each fit. Charge, noise, model file
           and the list of fits are one transaction. A fit is identified by the one before it: the
           same request again gives the stored file, and no new noise. A fit that fails after its
           first sum, or is interrupted, releases nothing, stays charged and counts; the next one
           follows it. A process that is killed releases nothing either, and nothing is charged.
           A file with likes of people who agreed not to be protected stands in the ledger's state
           alone, which the next fit replaces: of the file before nothing is kept but its SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.gdp import epsilon_of_mu
from tacit.errors import ConfigError, PrivacyError
from tacit.profile_sums.events import event_of_sum
from tacit.profile_sums.fit_plan import FitPlan
from tacit.profile_sums.fits import STEPS_OF_RHO, Fit, total_epsilon
from tacit.recommenders.model_files import load_model
from tacit.views import table

if TYPE_CHECKING:
    from tacit.ledger import Cap, Holder, Ledger

_LARGEST_LIFETIME = 1e5
"""Epsilon; from near 1e6 on no float holds its mu."""
_KEY_BYTES = 32
_IN_STATE = b"the file is in the state"
"""Begins the answer of a fit whose file holds likes of people who agreed; random bytes follow, so
that the log's hash of it is no one else's."""
_LARGEST_KEPT_FILE = 32 * 2**20
"""Bytes; a ledger's state holds 64 MiB."""
_FILE_IS_GONE = (
    "This fit was made before, and a newer one since. Its file held likes of people who agreed not "
    "to be protected, of whom some may have withdrawn: it is not kept. Give the newest model as "
    "--previous (from Python: previous=...). Nothing was drawn or spent."
)


@dataclass(frozen=True)
class BudgetStatus:
    """Costs of the fits of a data set so far, and what is left."""

    fits: int
    """Number of fits."""
    epsilon: float
    """Epsilon of the last fit alone."""
    total: float
    """Epsilon of all fits together, at the same delta."""
    lifetime: float | None
    """Epsilon that all fits may cost together; None without a limit."""
    further: int | None
    """How many more fits like the last one the lifetime allows; None without a limit."""
    repeated: bool = False
    """Whether the fit had been made before, so that nothing was charged."""

    def _repr_html_(self) -> str:
        """Return a table, for a notebook."""
        rows = [
            ("fits so far", self.fits),
            ("epsilon of the last fit", f"{self.epsilon:.4g}"),
            ("epsilon of all fits together", f"{self.total:.4g}"),
            ("all fits may cost", "no limit" if self.lifetime is None else f"{self.lifetime:g}"),
            ("further fits like the last", "no limit" if self.further is None else self.further),
        ]
        if self.repeated:
            rows.append(("charged", "nothing: this fit had been made before"))
        return table("Budget", (), rows)


def compute_budget_status(
    fits: Sequence[Fit],
    delta: float,
    lifetime: float | None,
    *,
    repeated: bool,
    planned: Sequence[Fit] = (),
) -> BudgetStatus:
    """Compute what fits cost, and how many more like the last one are allowed.

    planned: fits that the last fit's plan still has.
    """
    further = None
    if fits[-1].plan:
        further = len(planned)
    elif lifetime is not None:
        rho = largest_rho(lifetime, delta)
        by_rho = (rho - sum(fit.rho for fit in fits)) // fits[-1].rho
        steps_left = math.ceil(rho * STEPS_OF_RHO) - sum(fit.steps for fit in fits)
        further = max(0, min(by_rho, steps_left // fits[-1].steps))
    return BudgetStatus(
        fits=len(fits),
        epsilon=total_epsilon(fits[-1:], delta),
        total=total_epsilon(fits, delta),
        lifetime=lifetime,
        further=further,
        repeated=repeated,
    )


def earlier_fits(
    previous: Any, lifetime: Any, delta: float
) -> tuple[tuple[Fit, ...], float | None]:
    """Read the fits before this one, and the lifetime of all.

    Args:
        previous: A fitted model, or its file; None: there is none.
        lifetime: Epsilon of all fits together; None: that of `previous`.
        delta: Of this fit.

    Raises:
        ConfigError: one of them cannot be used, or the inherited lifetime was stated at a smaller
            delta.
    """
    if lifetime is not None:
        lifetime = read_lifetime(lifetime)
    if previous is None:
        return (), lifetime
    model = open_previous(previous)
    if lifetime is None and model.lifetime_ is not None and delta > model.settings_.delta:
        raise ConfigError(
            f"The lifetime of the fits before holds at delta {model.settings_.delta:g}; got delta "
            f"{delta:g}. Use that delta, or state another lifetime."
        )
    return model.releases_, model.lifetime_ if lifetime is None else lifetime


def open_previous(previous: Any) -> Any:
    """Open the model of the previous fit.

    Args:
        previous: A fitted model, or its file.

    Raises:
        ConfigError: It is not a model of this design.
    """
    model = load_model(previous) if isinstance(previous, str | Path) else previous
    if not hasattr(model, "releases_"):
        raise ConfigError("previous must be a fitted model of the design 'private', or its file.")
    return model


def read_lifetime(lifetime: Any) -> float:
    """Return a lifetime's epsilon as a float; ConfigError if it is not above 0 and below 1e5."""
    is_number = isinstance(lifetime, Real) and not isinstance(lifetime, bool)
    if not is_number or not 0 < lifetime < _LARGEST_LIFETIME:
        raise ConfigError(f"lifetime must be an epsilon above 0 and below 1e5; got {lifetime!r}.")
    return float(lifetime)


def merge_fits(own: Sequence[Fit], others: Sequence[Fit]) -> tuple[Fit, ...]:
    """Merge two lists of fits, each once; those of `others` last, unless `own` has them all."""
    if all(fit in own for fit in others):
        return tuple(own)
    own_alone = [fit for fit in own if fit not in others]
    return (*own_alone, *others)


def largest_rho(lifetime: float, delta: float) -> Fraction:
    """Rho that (lifetime, delta) leaves for all fits together."""
    noise = smallest_noise(event_of_sum, epsilon=lifetime, delta=delta, accountant=GDPAccountant)
    return Fit("", (noise,)).rho


def cap_of_lifetime(lifetime: float, delta: float) -> Cap:
    """Return the budget that pays for all fits: mu^2 / 2, stated at delta.

    It is rounded up to a step of 1e-12, because each fit's cost is. Where the lifetime is named, no
    fit uses what that adds: the exact epsilon of all is compared with it before each one.
    """
    from tacit.ledger import Cap

    amount = math.ceil(largest_rho(read_lifetime(lifetime), delta) * STEPS_OF_RHO)
    return Cap.gdp(Fraction(amount, STEPS_OF_RHO), delta=repr(float(delta)))


def lifetime_of_cap(cap: Cap, delta: float) -> float:
    """Return the epsilon at this delta of everything that an open budget pays for.

    It is that of the amount as it is stored: what was set, and a step of 1e-12 of mu^2 / 2 at most.
    """
    return epsilon_of_mu(math.sqrt(2 * cap.amount / STEPS_OF_RHO), delta)


def check_lifetime(
    earlier: Sequence[Fit], new_fit: Fit, delta: float, lifetime: float | None
) -> None:
    """Raise PrivacyError, before anything is drawn, where one more fit would pass the lifetime."""
    if lifetime is None:
        return
    _check_noise(earlier, new_fit)
    fits = (*earlier, new_fit)
    epsilon = total_epsilon(fits, delta)
    if epsilon > lifetime:
        raise PrivacyError(
            f"With this fit {len(fits)} fits together would cost epsilon {epsilon:.6g} at delta "
            f"{delta:g}; their lifetime allows {lifetime:g}. Nothing was drawn, spent or written. "
            "Use a smaller epsilon, or stop."
        )


def check_plan(earlier: Sequence[Fit], plan: FitPlan) -> None:
    """Raise PrivacyError, before anything is drawn, where all fits of a plan were made."""
    if plan.count_fits(earlier) >= plan.fits:
        raise PrivacyError(
            f"All {plan.fits} fits of the plan are spent, failed ones included. Nothing was drawn, "
            "spent or written. The last model stays in use; a new plan needs a larger --lifetime."
        )


def _check_noise(earlier: Sequence[Fit], new_fit: Fit) -> None:
    if not all(all(fit.noises) for fit in (*earlier, new_fit)):
        raise PrivacyError(
            "A fit without noise, this one or one before it, has no place in a lifetime or a "
            "ledger: nothing limits what it reveals. Nothing was drawn or spent."
        )


@dataclass(frozen=True)
class FitRequest:
    """A fit for which a ledger is asked to pay."""

    new_fit: Fit
    """It, as a fact."""
    delta: float
    """At which epsilons hold."""
    earlier: tuple[Fit, ...]
    """Fits before this one that the request knows of."""
    followed: tuple[Fit, ...]
    """Those of them that made the model which it goes on from, the newest last."""
    lifetime: float | None
    """Epsilon of all fits together; None: that of the open budget."""
    plan: FitPlan | None
    """The plan that it is of; None: of none."""
    parameters: Mapping[str, Any]
    """JSON values of all that the fit depends on, without the ratings. Only a hash of them is kept,
    under a random key of the ledger's state: they name the people who agreed not to be protected.
    A digest of ratings would be a release."""


@dataclass(frozen=True)
class Account:
    """A data set's budget for life in a ledger."""

    ledger: Ledger
    tenant: str = "tacit"
    dataset: str = "ratings"

    @property
    def holder(self) -> Holder:
        """Whose budget in the ledger pays."""
        from tacit.ledger import Holder

        return Holder.dataset(self.tenant, self.dataset)

    @property
    def _state(self) -> str:
        """Name of the ledger's state that lists the fits."""
        names = json.dumps([self.tenant, self.dataset]).encode()
        return f"private/{hashlib.sha256(names).hexdigest()[:32]}"

    def fits(self) -> tuple[Fit, ...]:
        """List all fits that the ledger was charged for."""
        return FitState.decode(self.ledger.state(self._state)).fits

    def fits_before(self, earlier: Sequence[Fit], followed: Sequence[Fit]) -> tuple[Fit, ...]:
        """List the fits that count before a new one.

        Args:
            earlier: Fits that the request knows of; some may not be charged yet.
            followed: Fits of the model that the new one goes on from.

        Returns:
            All fits, or where the same place was asked for before, those that came before it then.
        """
        charged_fits = self.fits()
        last, newer = _find_place(followed, charged_fits)
        if newer:
            return charged_fits[: 0 if last is None else charged_fits.index(last) + 1]
        uncharged = [fit for fit in earlier if fit not in charged_fits]
        return (*uncharged, *charged_fits)

    def count_newer(self, followed: Sequence[Fit]) -> int:
        """Count the fits after these that the ledger was charged for and that did not fail."""
        return _find_place(followed, self.fits())[1]

    def lifetime(self, lifetime: float | None, delta: float) -> tuple[float, Cap]:
        """Epsilon of all fits, and the same as a cap in gdp, stated at delta.

        Args:
            lifetime: As it was asked for; None: that of the open budget.
            delta: At which epsilon holds.

        Raises:
            ConfigError: neither a lifetime nor an open budget is there.
            UnitsDiffer, CapChanged: the open budget is another one.
        """
        from tacit.ledger import Unit, UnknownBudget
        from tacit.ledger.refusals import CapChanged, UnitsDiffer

        lifetime_cap = None if lifetime is None else cap_of_lifetime(lifetime, delta)
        try:
            cap = self.ledger.balance(self.holder).cap
        except UnknownBudget:
            if lifetime is None or lifetime_cap is None:
                raise ConfigError(
                    "This data set has no budget in the ledger yet. Say what all its fits may cost "
                    "together: --lifetime EPSILON (from Python: lifetime=...)."
                ) from None
            return lifetime, lifetime_cap
        if cap.unit is not Unit.GDP:
            raise UnitsDiffer
        if lifetime is None:
            return lifetime_of_cap(cap, delta), cap
        if lifetime_cap is None or lifetime_cap.amount != cap.amount:
            raise CapChanged
        return lifetime, cap

    def release(
        self, request: FitRequest, fit_to_file: Callable[[tuple[Fit, ...]], bytes]
    ) -> tuple[bytes, bool]:
        """Charge and make one fit in a single transaction of the ledger.

        Args:
            request: The fit that is asked for.
            fit_to_file: From all fits, the new one last, to the model file.

        Returns:
            The model file, and whether it had been made before.

        Raises:
            PrivacyError, ConfigError: nothing is released.
        """
        from tacit.ledger import Charge, Cost, KeyReused, Request, Unit, canonical

        new_fit, delta = request.new_fit, request.delta
        _check_noise(request.earlier, new_fit)
        lifetime, cap = self.lifetime(request.lifetime, delta)
        known_state = FitState.decode(self.ledger.state(self._state))
        charged_fits, key_of_requests = known_state.fits, known_state.key
        uncharged = [fit for fit in request.earlier if fit not in charged_fits]
        last, newer = _find_place(request.followed, charged_fits)
        is_repeat = newer > 0
        holds_likes = "consented" in request.parameters
        if newer > 1 and holds_likes:
            raise PrivacyError(_FILE_IS_GONE)

        def check(fits: Sequence[Fit]) -> None:
            """Raise PrivacyError where a further fit after these is not allowed."""
            if request.plan is not None:
                check_plan(fits, request.plan)
            check_lifetime(fits, new_fit, delta, lifetime)

        if not is_repeat:
            check((*uncharged, *charged_fits))
        interrupts: list[BaseException] = []
        causes: list[str] = []
        files: list[bytes] = []

        def draw(_: Any, state: bytes | None) -> tuple[bytes, bytes]:
            """Make the file and the new list of fits, while the transaction is open."""
            stored = FitState.decode(state).fits
            still_uncharged = [fit for fit in uncharged if fit not in stored]
            earlier = (*still_uncharged, *stored)
            try:
                check(earlier)  # others may have been faster
                file = fit_to_file((*earlier, new_fit))
                files.append(file)
                new_state = FitState((*earlier, new_fit), key_of_requests)
                if not holds_likes:
                    return file, new_state.encode()
                if len(file) <= _LARGEST_KEPT_FILE:
                    new_state = replace(new_state, file=file)
                return _IN_STATE + secrets.token_bytes(_KEY_BYTES), new_state.encode()
            except BaseException as error:  # what it says may hold data; its type does not
                causes.append(type(error).__name__)
                if not isinstance(error, Exception):
                    interrupts.append(error)  # raised again once the charge is written
                failed = replace(new_fit, failed=True)
                return b"", FitState((*earlier, failed), key_of_requests).encode()

        cost = sum(fit.steps for fit in (*uncharged, new_fit))
        key = "first fit" if last is None else f"fit after {last.name}"
        parameters = hmac.digest(key_of_requests, canonical(request.parameters), "sha256")
        ledger_request = Request(self.tenant, self.dataset, "private-fit", key, parameters)
        charge = Charge(self.holder, Cost(Unit.GDP, cost), cap)
        try:
            made = self.ledger.release(ledger_request, [charge], draw, state=self._state)
        except KeyReused:
            raise ConfigError(
                "The ledger holds another fit after this one. Give the newest model as --previous "
                "(from Python: previous=...). Nothing was drawn or spent."
            ) from None
        if interrupts:
            raise interrupts[0]
        if not made.answer:
            cause = f" by {causes[0]}" if causes else ""
            raise PrivacyError(
                f"The fit failed after it was charged{cause}. Nothing was released; it stays "
                "charged, for noise may have been drawn. Mend the cause and ask again: that is a "
                "further fit."
            )
        if not made.answer.startswith(_IN_STATE):
            return made.answer, made.repeated
        if made.repeated:
            return self._read_kept_file(), True
        return files[0], False

    def _read_kept_file(self) -> bytes:
        """Read the newest file, where it holds likes of people who agreed.

        Raises:
            PrivacyError: A newer fit replaced it, or it was too large to be kept.
        """
        file = FitState.decode(self.ledger.state(self._state)).file
        if not file:
            raise PrivacyError(_FILE_IS_GONE)
        return file


def _find_place(followed: Sequence[Fit], charged_fits: Sequence[Fit]) -> tuple[Fit | None, int]:
    """Find the fit that a new one follows.

    That is the last one followed, or the last of those that failed directly after it.

    Returns:
        That fit, None for the first; and how many others that did not fail follow it already.
    """
    last = followed[-1] if followed else None
    if last is not None and last not in charged_fits:
        return last, 0
    next_place = 0 if last is None else charged_fits.index(last) + 1
    while next_place < len(charged_fits) and charged_fits[next_place].failed:
        last = charged_fits[next_place]
        next_place += 1
    return last, sum(not fit.failed for fit in charged_fits[next_place:])


@dataclass(frozen=True)
class FitState:
    """State that a ledger keeps of a data set: a line of JSON with its fits, maybe a file."""

    fits: tuple[Fit, ...]
    """All fits that were charged."""
    key: bytes
    """Under which requests are hashed."""
    file: bytes = b""
    """The newest model file, if it holds likes of people who agreed not to be protected."""

    @classmethod
    def decode(cls, state: bytes | None) -> Self:
        """Decode a state; before the first fit there is none, and the key is new."""
        if state is None:
            return cls((), secrets.token_bytes(_KEY_BYTES))
        line, _, file = state.partition(b"\n")
        content = json.loads(line)
        fits = tuple(Fit.from_row(row) for row in content["fits"])
        return cls(fits, bytes.fromhex(content["key"]), file)

    def encode(self) -> bytes:
        """Encode the state as `decode` reads it."""
        rows = [fit.to_row() for fit in self.fits]
        return json.dumps({"fits": rows, "key": self.key.hex()}).encode() + b"\n" + self.file
