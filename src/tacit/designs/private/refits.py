"""Several fits of the same people, one after the other, under one budget for all of them.

Source     Smith, Thakurta: Fully adaptive composition for GDP (2022), for epsilons that are chosen
           in view of earlier releases.
Guarantee  For one person's whole profile over all fits: ratings that earlier fits used, and new
           ones.
Ledger     A data set's budget in Gaussian differential privacy pays rho = mu^2 / 2 of each fit.
           Charge, noise, model file and the list of fits are one transaction. A fit is identified
           by the fit that it follows: the same request again returns the stored file, without new
           noise. A fit that is interrupted, or fails after it was charged, releases nothing; it
           stays charged and is listed as failed, and the next fit follows it. If the process is
           killed, nothing is released or charged.
           A model file with likes of people who agreed not to be protected is stored only in the
           state of the ledger, which the next fit overwrites, and only up to 32 MiB.
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
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tacit.accounting import GDPAccountant, smallest_noise
from tacit.accounting.gdp import epsilon_of_mu
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import format_upper_bound
from tacit.profile_sums.events import event_of_sum
from tacit.profile_sums.fit_plan import FitPlan
from tacit.profile_sums.fits import STEPS_OF_RHO, Fit, total_epsilon
from tacit.recommenders.model_files import load_model
from tacit.views import table

if TYPE_CHECKING:
    from tacit.ledger import Cap, Holder, Ledger, Release

_LARGEST_LIFETIME = 1e5
"""Upper limit of a lifetime's epsilon. From near 1e6 on, its mu cannot be computed in floats."""
_KEY_BYTES = 32
"""Bytes of the random key of requests, and of the random end of an `_IN_STATE` answer."""
_IN_STATE = b"the file is in the state"
"""First bytes of the answer of a fit whose file is not in the answer, because it holds likes of
people who agreed not to be protected. Random bytes follow, so that the hash of the answer in the
ledger's log differs from fit to fit."""
_LARGEST_KEPT_FILE = 32 * 2**20
"""Bytes of the largest model file that is stored in the ledger's state, which holds 64 MiB."""
_FILE_IS_GONE = (
    "This fit was made before, and the ledger does not have its file: a file with likes of people "
    "who agreed not to be protected is kept only up to 32 MiB, and only until the next fit, when "
    "some may have withdrawn. Give the newest model as --previous (from Python: previous=...). "
    "Nothing was drawn or spent."
)
"""Error for a repeated request whose file is not kept; see `_LARGEST_KEPT_FILE`."""


@dataclass(frozen=True)
class BudgetStatus:
    """Cost of the fits of a data set so far, and how many more are allowed."""

    fits: int
    """Number of fits so far."""
    epsilon: float
    """Epsilon of the last fit alone."""
    total: float
    """Epsilon of all fits so far together, at the same delta."""
    lifetime: float | None
    """Largest epsilon that all fits may cost together; None: no limit."""
    further: int | None
    """How many more fits are allowed. If the last fit belongs to a plan, these are the rest of the
    plan; otherwise they are as many fits like the last one as the lifetime allows. None: no limit.
    """
    repeated: bool = False
    """Whether the ledger already held the last fit, so that nothing was charged."""

    def _repr_html_(self) -> str:
        """Return the budget as an HTML table, for a notebook."""
        rows = [
            ("fits so far", self.fits),
            ("epsilon of the last fit", format_upper_bound(self.epsilon, digits=4)),
            ("epsilon of all fits together", format_upper_bound(self.total, digits=4)),
            ("all fits may cost", "no limit" if self.lifetime is None else f"{self.lifetime:g}"),
            ("further fits allowed", "no limit" if self.further is None else self.further),
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
    """Compute what fits have cost, and how many more are allowed.

    Args:
        fits: All fits of the data set, the last one last; at least one.
        delta: Delta at which epsilons are computed.
        lifetime: Largest epsilon of all fits together; None: no limit.
        repeated: Whether the ledger already held the last fit.
        planned: Fits of the last fit's plan that are still to be made; empty without a plan.
    """
    further = None
    if fits[-1].plan:
        further = len(planned)
    elif lifetime is not None:
        further = _count_further_fits(fits, delta, lifetime)
    return BudgetStatus(
        fits=len(fits),
        epsilon=total_epsilon(fits[-1:], delta),
        total=total_epsilon(fits, delta),
        lifetime=lifetime,
        further=further,
        repeated=repeated,
    )


def _count_further_fits(fits: Sequence[Fit], delta: float, lifetime: float) -> int:
    """Count how many more fits like the last one both the lifetime and a ledger allow.

    The lifetime limits the sum of the exact rho; a ledger limits the sum of steps, into which the
    rho of each fit is rounded up.
    """
    rho = largest_rho(lifetime, delta)
    allowed_by_rho = (rho - sum(fit.rho for fit in fits)) // fits[-1].rho
    steps_left = math.ceil(rho * STEPS_OF_RHO) - sum(fit.steps for fit in fits)
    allowed_by_steps = steps_left // fits[-1].steps
    return max(0, min(allowed_by_rho, allowed_by_steps))


def read_earlier_fits(
    previous: Any, lifetime: Any, delta: float
) -> tuple[tuple[Fit, ...], float | None]:
    """Return all fits of the previous model, and the lifetime that holds for the next fit.

    Args:
        previous: The fitted model, or its file; None: there is none.
        lifetime: Largest epsilon of all fits together; None: the lifetime of `previous`.
        delta: Delta of the next fit.

    Returns:
        The fits, the newest last; and the lifetime, None without a limit.

    Raises:
        ConfigError: `previous` or `lifetime` cannot be used, or the lifetime of `previous` holds
            at a smaller delta only.
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
    """Return the model of the previous fit, loaded if it is given as a file.

    Args:
        previous: A fitted model, or its file.

    Raises:
        ConfigError: It is not a fitted model of this design.
        ModelFileError: The file cannot be read.
    """
    model = load_model(previous) if isinstance(previous, str | Path) else previous
    if not hasattr(model, "releases_"):
        raise ConfigError("previous must be a fitted model of the design 'private', or its file.")
    return model


def read_lifetime(lifetime: Any) -> float:
    """Return a lifetime's epsilon as a float; raise ConfigError unless it is in (0, 1e5)."""
    is_number = isinstance(lifetime, Real) and not isinstance(lifetime, bool)
    if not is_number or not 0 < lifetime < _LARGEST_LIFETIME:
        raise ConfigError(f"lifetime must be an epsilon above 0 and below 1e5; got {lifetime!r}.")
    return float(lifetime)


def merge_fits(fits_of_object: Sequence[Fit], fits_of_previous: Sequence[Fit]) -> tuple[Fit, ...]:
    """Merge two lists of fits without repetitions.

    Args:
        fits_of_object: Fits that the object made itself.
        fits_of_previous: Fits of its `previous` model.

    Returns:
        All fits: in the order of `fits_of_object` if these are all; otherwise with
        `fits_of_previous` last.
    """
    if all(fit in fits_of_object for fit in fits_of_previous):
        return tuple(fits_of_object)
    only_of_object = [fit for fit in fits_of_object if fit not in fits_of_previous]
    return (*only_of_object, *fits_of_previous)


def largest_rho(lifetime: float, delta: float) -> Fraction:
    """Return the rho = mu^2 / 2 that all fits together may cost.

    It is that of the noise multiplier which `smallest_noise` finds for the lifetime.

    Args:
        lifetime: Largest epsilon of all fits together.
        delta: Delta at which this epsilon holds.
    """
    noise = smallest_noise(event_of_sum, epsilon=lifetime, delta=delta, accountant=GDPAccountant)
    return Fit("", (noise,)).rho


def cap_of_lifetime(lifetime: float, delta: float) -> Cap:
    """Return the cap, in mu^2 / 2, of the ledger's budget that pays for all fits.

    The cap is rounded up to a step of 1e-12, because the cost of each fit is rounded up as well.
    Where a fit names its lifetime, no fit gains from the rounding of the cap: before each fit, the
    exact epsilon of all fits is compared with the lifetime.

    Args:
        lifetime: Largest epsilon of all fits together, above 0 and below 1e5.
        delta: Delta at which this epsilon holds, and at which the ledger states the budget's
            epsilon.

    Raises:
        ConfigError: The lifetime is outside of its range.
    """
    from tacit.ledger import Cap

    amount = math.ceil(largest_rho(read_lifetime(lifetime), delta) * STEPS_OF_RHO)
    return Cap.gdp(Fraction(amount, STEPS_OF_RHO), delta=repr(float(delta)))


def lifetime_of_cap(cap: Cap, delta: float) -> float:
    """Return the epsilon, at this delta, of everything that an open budget can pay for.

    It is computed from the stored amount, which may be up to 1e-12 above the mu^2 / 2 of the
    lifetime that the budget was opened with.
    """
    return epsilon_of_mu(math.sqrt(2 * cap.amount / STEPS_OF_RHO), delta)


def check_lifetime(
    earlier: Sequence[Fit], new_fit: Fit, delta: float, lifetime: float | None
) -> None:
    """Raise PrivacyError if a new fit would bring the cost of all fits above the lifetime.

    It is also raised if one of the fits has no noise, because such a fit has no finite cost.

    Args:
        earlier: All fits before the new one.
        new_fit: The new fit; nothing of it is drawn yet.
        delta: Delta at which the lifetime holds.
        lifetime: Largest epsilon of all fits together; None: no limit, so nothing is raised.
    """
    if lifetime is None:
        return
    _check_noise(earlier, new_fit)
    fits = (*earlier, new_fit)
    epsilon = total_epsilon(fits, delta)
    if epsilon > lifetime:
        raise PrivacyError(
            f"With this fit {len(fits)} fits together would cost epsilon "
            f"{format_upper_bound(epsilon)} at delta "
            f"{delta:g}; their lifetime allows {lifetime:g}. Nothing was drawn, spent or written. "
            "Use a smaller epsilon, or stop."
        )


def check_plan(earlier: Sequence[Fit], plan: FitPlan) -> None:
    """Raise PrivacyError if all fits of a plan are among the earlier ones, failed ones included."""
    if plan.count_fits(earlier) >= plan.fits:
        raise PrivacyError(
            f"All {plan.fits} fits of the plan are spent, failed ones included. Nothing was drawn, "
            "spent or written. The last model stays in use; a new plan needs a larger --lifetime."
        )


def _check_noise(earlier: Sequence[Fit], new_fit: Fit) -> None:
    """Raise PrivacyError if a sum of any of the fits has no noise."""
    if not all(all(fit.noises) for fit in (*earlier, new_fit)):
        raise PrivacyError(
            "A fit without noise, this one or one before it, has no place in a lifetime or a "
            "ledger: nothing limits what it reveals. Nothing was drawn or spent."
        )


@dataclass(frozen=True)
class FitRequest:
    """A fit that a ledger is asked to pay for."""

    new_fit: Fit
    """The record of the fit: its name and the noise multipliers of its sums."""
    delta: float
    """Delta at which epsilons hold."""
    earlier: tuple[Fit, ...]
    """Earlier fits of these people that the caller knows of; the ledger may list more."""
    followed: tuple[Fit, ...]
    """Those of `earlier` that are listed in the model that the new fit follows, the newest last;
    empty for the first fit."""
    lifetime: float | None
    """Largest epsilon of all fits together; None: that of the open budget."""
    plan: FitPlan | None
    """The plan that the fit belongs to; None for a single fit."""
    parameters: Mapping[str, Any]
    """Everything that the fit depends on, except for the ratings, as JSON values. The ledger stores
    only their HMAC under a secret random key, since they name the people who agreed not to be
    protected. The ratings are left out because a stored digest of them would be a release."""

    @property
    def holds_likes(self) -> bool:
        """Whether the model file may hold likes of people who agreed not to be protected."""
        return "consented" in self.parameters

    def check(self, fits: Sequence[Fit], lifetime: float) -> None:
        """Raise PrivacyError if the plan or the lifetime forbids the new fit after `fits`."""
        if self.plan is not None:
            check_plan(fits, self.plan)
        check_lifetime(fits, self.new_fit, self.delta, lifetime)


@dataclass(frozen=True)
class Account:
    """A data set's budget in a ledger, which pays for all fits to it."""

    ledger: Ledger
    """The open ledger."""
    tenant: str = "tacit"
    """Name of the tenant whose budget pays."""
    dataset: str = "ratings"
    """Name of the data set among the tenant's."""

    @property
    def holder(self) -> Holder:
        """The holder, in the ledger, of the budget that pays."""
        from tacit.ledger import Holder

        return Holder.dataset(self.tenant, self.dataset)

    @property
    def _state(self) -> str:
        """Name of the stored state of the ledger that lists the fits."""
        names = json.dumps([self.tenant, self.dataset]).encode()
        return f"private/{hashlib.sha256(names).hexdigest()[:32]}"

    def fits(self) -> tuple[Fit, ...]:
        """List all fits that the ledger was charged for."""
        return FitState.decode(self.ledger.state(self._state)).fits

    def fits_before(self, earlier: Sequence[Fit], followed: Sequence[Fit]) -> tuple[Fit, ...]:
        """List the fits that count as earlier ones of a new fit.

        Args:
            earlier: Earlier fits that the caller knows of; some may not be charged yet.
            followed: Fits of the model that the new fit follows.

        Returns:
            All charged fits and those of `earlier`; but if the ledger already holds a fit after
            `followed`, only the fits before that one, so that a repeated request is recognised.
        """
        charged_fits = self.fits()
        last, newer_fits = _find_predecessor(followed, charged_fits)
        if newer_fits:
            return () if last is None else charged_fits[: charged_fits.index(last) + 1]
        uncharged = [fit for fit in earlier if fit not in charged_fits]
        return (*uncharged, *charged_fits)

    def count_newer(self, followed: Sequence[Fit]) -> int:
        """Count the charged fits that came after the last of `followed` and did not fail.

        The count is 0 if that fit is not charged. An empty `followed` comes before all fits.
        """
        return _find_predecessor(followed, self.fits()).newer_fits

    def lifetime(self, lifetime: float | None, delta: float) -> tuple[float, Cap]:
        """Return the largest epsilon of all fits together, and the budget's cap that allows it.

        Args:
            lifetime: The epsilon that the caller wants; None: that of the open budget.
            delta: Delta at which epsilon holds, and at which a new budget's epsilon is stated.

        Raises:
            ConfigError: There is neither a lifetime nor an open budget.
            UnitsDiffer: The open budget is not in Gaussian differential privacy.
            CapChanged: The amount of the open budget's cap is not that of `lifetime`.
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

        If the ledger already holds the fit that is asked for, its stored file is returned.

        Args:
            request: The fit that is asked for.
            fit_to_file: Makes the fit and returns its model file; called with all fits, the new one
                last.

        Returns:
            The model file, and whether the ledger already held it.

        Raises:
            PrivacyError: The plan or the lifetime does not allow the fit, a fit has no noise, or
                the file of a repeated request is not kept; nothing was charged. Or the fit failed
                after it was charged.
            ConfigError: The open budget does not fit the request, or the ledger holds another fit
                after `request.followed`; nothing was charged.
        """
        from tacit.ledger import Charge, Cost, KeyReused, Request, Unit, canonical

        _check_noise(request.earlier, request.new_fit)
        lifetime, cap = self.lifetime(request.lifetime, request.delta)
        stored_state = FitState.decode(self.ledger.state(self._state))
        charged_fits = stored_state.fits
        uncharged = [fit for fit in request.earlier if fit not in charged_fits]
        last, newer_fits = _find_predecessor(request.followed, charged_fits)
        if newer_fits > 1 and request.holds_likes:
            raise PrivacyError(_FILE_IS_GONE)
        is_repeat = newer_fits > 0
        if not is_repeat:
            request.check((*uncharged, *charged_fits), lifetime)
        drawing = _FitDrawing(request, lifetime, uncharged, stored_state.key, fit_to_file)
        steps = sum(fit.steps for fit in (*uncharged, request.new_fit))
        key = "first fit" if last is None else f"fit after {last.name}"
        payload = hmac.digest(stored_state.key, canonical(request.parameters), "sha256")
        ledger_request = Request(self.tenant, self.dataset, "private-fit", key, payload)
        charge = Charge(self.holder, Cost(Unit.GDP, steps), cap)
        try:
            release = self.ledger.release(ledger_request, [charge], drawing.draw, state=self._state)
        except KeyReused:
            raise ConfigError(
                "The ledger already holds another fit that follows the same model. Give the newest "
                "model as --previous (from Python: previous=...). Nothing was drawn or spent."
            ) from None
        return self._find_file(release, drawing), release.repeated

    def _find_file(self, release: Release, drawing: _FitDrawing) -> bytes:
        """Return the model file of a fit that the ledger holds.

        Args:
            release: The ledger's release, made now or at an earlier request.
            drawing: The fit, if it was made now.

        Raises:
            PrivacyError: The fit failed after it was charged, or its file is not kept.
            BaseException: What interrupted the fit, such as KeyboardInterrupt.
        """
        if drawing.interrupt is not None:
            raise drawing.interrupt
        if not release.answer:
            cause = f" ({drawing.cause})" if drawing.cause else ""
            raise PrivacyError(
                f"The fit failed after it was charged{cause}. Nothing was released; it stays "
                "charged, for noise may have been drawn. Mend the cause and ask again: that is a "
                "further fit."
            )
        if not release.answer.startswith(_IN_STATE):
            return release.answer
        return self._read_kept_file() if release.repeated else drawing.file

    def _read_kept_file(self) -> bytes:
        """Read the newest model file from the ledger's state.

        Raises:
            PrivacyError: The state has none: a newer fit overwrote it, or it was too large.
        """
        file = FitState.decode(self.ledger.state(self._state)).file
        if not file:
            raise PrivacyError(_FILE_IS_GONE)
        return file


@dataclass
class _FitDrawing:
    """Makes a fit inside the ledger's transaction, and remembers how it ended."""

    request: FitRequest
    """The fit that is asked for."""
    lifetime: float
    """Largest epsilon of all fits together."""
    uncharged: Sequence[Fit]
    """Earlier fits that are charged together with the new one."""
    key: bytes
    """Key of the ledger's state, under which requests are hashed."""
    fit_to_file: Callable[[tuple[Fit, ...]], bytes]
    """Makes the fit and returns its model file; called with all fits, the new one last."""
    file: bytes = b""
    """The model file; empty until the fit is made."""
    cause: str = ""
    """Name of the type of the error with which the fit failed; empty if it did not."""
    interrupt: BaseException | None = None
    """That error, if it asks the process to stop, such as KeyboardInterrupt."""

    def draw(self, _: Any, state: bytes | None) -> tuple[bytes, bytes]:
        """Make the fit; return the answer that the ledger stores, and its new state.

        If the fit fails, this does not raise: the answer is empty, and the new state lists the fit
        as failed. The ledger then commits the charge, and `Account.release` raises afterwards.

        Args:
            _: The ledger's source of randomness, which is not used.
            state: The stored state, as `FitState` encodes it; None before the first fit.
        """
        stored_fits = FitState.decode(state).fits
        still_uncharged = [fit for fit in self.uncharged if fit not in stored_fits]
        earlier = (*still_uncharged, *stored_fits)
        new_fit = self.request.new_fit
        try:
            # Checked again: another process may have been charged since the first check.
            self.request.check(earlier, self.lifetime)
            self.file = self.fit_to_file((*earlier, new_fit))
            return self._encode_success((*earlier, new_fit))
        except BaseException as error:
            # The text of an error may hold data, so only the name of its type is kept.
            self.cause = type(error).__name__
            if not isinstance(error, Exception):
                self.interrupt = error
            failed_fit = replace(new_fit, failed=True)
            return b"", FitState((*earlier, failed_fit), self.key).encode()

    def _encode_success(self, fits: tuple[Fit, ...]) -> tuple[bytes, bytes]:
        """Return the ledger's answer and its new state after a fit that was made."""
        new_state = FitState(fits, self.key)
        if not self.request.holds_likes:
            return self.file, new_state.encode()
        if len(self.file) <= _LARGEST_KEPT_FILE:
            new_state = replace(new_state, file=self.file)
        return _IN_STATE + secrets.token_bytes(_KEY_BYTES), new_state.encode()


class _Predecessor(NamedTuple):
    """The fit that a new fit follows."""

    fit: Fit | None
    """That fit, which may not be charged yet; None if the new fit is the first one."""
    newer_fits: int
    """Number of charged fits after it that did not fail. If it is above 0, the ledger already holds
    a fit that follows `fit`."""


def _find_predecessor(followed: Sequence[Fit], charged_fits: Sequence[Fit]) -> _Predecessor:
    """Find the fit that a new fit follows.

    This is the last fit of `followed` or, if charged fits directly after it failed, the last of
    those.

    Args:
        followed: Fits of the model that the new fit follows, the newest last; empty for the first.
        charged_fits: Fits that the ledger was charged for, in their order.
    """
    last = followed[-1] if followed else None
    if last is not None and last not in charged_fits:
        return _Predecessor(last, 0)
    next_index = 0 if last is None else charged_fits.index(last) + 1
    while next_index < len(charged_fits) and charged_fits[next_index].failed:
        last = charged_fits[next_index]
        next_index += 1
    newer_fits = sum(not fit.failed for fit in charged_fits[next_index:])
    return _Predecessor(last, newer_fits)


@dataclass(frozen=True)
class FitState:
    """State that a ledger stores for a data set: its fits, a key, and perhaps a model file.

    Its bytes are one line of JSON with the fits and the key, followed by the model file.
    """

    fits: tuple[Fit, ...]
    """All fits that were charged, the newest last."""
    key: bytes
    """Secret key under which the parameters of requests are hashed."""
    file: bytes = b""
    """The newest model file, if it may hold likes of people who agreed not to be protected, and is
    at most `_LARGEST_KEPT_FILE` long; otherwise empty."""

    @classmethod
    def decode(cls, state: bytes | None) -> Self:
        """Decode a stored state; None, before the first fit, gives no fits and a new random key."""
        if state is None:
            return cls((), secrets.token_bytes(_KEY_BYTES))
        line, _, file = state.partition(b"\n")
        content = json.loads(line)
        fits = tuple(Fit.from_row(row) for row in content["fits"])
        return cls(fits, bytes.fromhex(content["key"]), file)

    def encode(self) -> bytes:
        """Return the bytes from which `decode` makes the same state."""
        rows = [fit.to_row() for fit in self.fits]
        return json.dumps({"fits": rows, "key": self.key.hex()}).encode() + b"\n" + self.file
