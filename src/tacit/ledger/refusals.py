"""What the ledger refuses. No sentence holds an id, an amount, or what is left of a budget."""

from __future__ import annotations

from tacit.errors import ConfigError, PrivacyError, TacitError


class BudgetExhausted(PrivacyError):
    """A budget does not cover the cost. Nothing was spent or released."""

    def __init__(self) -> None:
        super().__init__(
            "A budget of this request does not cover its cost. Nothing was spent and nothing is "
            "released. Answers that were given before can still be asked for with their own keys."
        )


class UnknownBudget(ConfigError):
    """A charge names a budget that was never opened."""

    def __init__(self) -> None:
        super().__init__(
            "A charge of this request names a budget that this ledger does not hold. Open it "
            "first, with its lifetime cap. Nothing was spent."
        )


class UnitsDiffer(ConfigError):
    """A cost in one unit was charged to a budget kept in another."""

    def __init__(self) -> None:
        super().__init__(
            "The cost of this request is not in the unit of the budget that it charges. State "
            "the cost in the budget's own unit. Nothing was spent."
        )


class KeyReused(ConfigError):
    """The key of an earlier request came back with another payload."""

    def __init__(self) -> None:
        super().__init__(
            "This key was used before, with another payload. Ask again with the payload of the "
            "first time, or with a new key. Nothing was spent."
        )


class CapChanged(ConfigError):
    """A budget is opened again with another cap; a cap is for life."""

    def __init__(self) -> None:
        super().__init__(
            "This budget exists with another unit or cap, and a cap is for life. Nothing changed."
        )


class DrawFailed(PrivacyError):
    """The function that draws the answer failed. The charge stands: failing is an answer too."""

    def __init__(self) -> None:
        super().__init__(
            "The answer of this request could not be drawn. Its charge stands, and its key will "
            "always give this refusal: whether drawing fails may depend on the data. Mend the "
            "function that draws, and ask with a new key."
        )


class LedgerRefused(PrivacyError):
    """This store must not be spent from: an older copy, a second copy, damage, unsafe settings."""


class LedgerUnavailable(TacitError):
    """The store cannot be reached or written now.

    What was asked may or may not have been recorded; nothing was released. Asking again with the
    same key and payload is safe.
    """


class LedgerFailed(LedgerUnavailable):
    """A disk failed under the store or its second place. This process does not write any more:
    after a failed sync a second attempt proves nothing. Mend the disk and start again.
    """
