"""The durable budget store: what was spent is on disk before the answer is given.

ledger = open_ledger("budgets.db")
ratings = Holder.dataset("shop", "ratings")
ledger.open_budget(ratings, Cap.pure("2"))
request = Request("shop", "analyst-1", "top-items", "key-1", canonical({"n": 10}))
ledger.release(request, [Charge(ratings, Cost.pure("0.1"))], draw).answer
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

if find_spec("sqlalchemy") is None:
    raise MissingExtra("sqlalchemy", "ledger")

from tacit.ledger.chain import FileHead, Head, HeadStore, anchor_of, token_of
from tacit.ledger.inspection import Inspection, inspect_ledger
from tacit.ledger.opening import open_ledger
from tacit.ledger.refusals import (
    BudgetExhausted,
    CapChanged,
    DrawFailed,
    KeyReused,
    LedgerFailed,
    LedgerRefused,
    LedgerUnavailable,
    UnitsDiffer,
    UnknownBudget,
)
from tacit.ledger.replaying import Verification
from tacit.ledger.requests import (
    Balance,
    Cap,
    Charge,
    Cost,
    Holder,
    Release,
    Request,
    Unit,
    canonical,
)
from tacit.ledger.statements import KeptState
from tacit.ledger.store import Ledger

__all__ = [
    "Balance",
    "BudgetExhausted",
    "Cap",
    "CapChanged",
    "Charge",
    "Cost",
    "DrawFailed",
    "FileHead",
    "Head",
    "HeadStore",
    "Holder",
    "Inspection",
    "KeptState",
    "KeyReused",
    "Ledger",
    "LedgerFailed",
    "LedgerRefused",
    "LedgerUnavailable",
    "Release",
    "Request",
    "Unit",
    "UnitsDiffer",
    "UnknownBudget",
    "Verification",
    "anchor_of",
    "canonical",
    "inspect_ledger",
    "open_ledger",
    "token_of",
]
