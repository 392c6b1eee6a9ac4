"""The durable budget store: what was spent is on disk before the answer is given.

ledger = open_ledger("budgets.db")
ratings = Holder.dataset("shop", "ratings")
ledger.open_budget(ratings, Cap.pure("2"))
request = Request("shop", "analyst-1", "top-items", "key-1", canonical({"n": 10}))
ledger.release(request, [Charge(ratings, Cost.pure("0.1"))], draw).answer

store            the class `Ledger`            opener, addresses   opening one
requests         requests and answers          amounts             costs, caps and units
transactions     a charge on its way to disk   states, statements  stored states, prepared SQL
chain, tokens    the hash chain, its epochs    heads               second places of its head
log_state        the state that a log says     replay, checkpoints comparing it with all tables
sqlite, postgres the two stores                schema              their tables
inspection       reading, backup and restore   refusals            errors in sentences
"""

from importlib.util import find_spec

from tacit.errors import MissingExtra

if find_spec("sqlalchemy") is None:
    raise MissingExtra("sqlalchemy", "ledger")

from tacit.ledger.amounts import Cap as Cap
from tacit.ledger.amounts import Cost as Cost
from tacit.ledger.amounts import Unit as Unit
from tacit.ledger.chain import Head as Head
from tacit.ledger.epsilons import EpsilonAtDelta as EpsilonAtDelta
from tacit.ledger.epsilons import epsilon_of_cap as epsilon_of_cap
from tacit.ledger.epsilons import epsilon_spent as epsilon_spent
from tacit.ledger.epsilons import state_cap as state_cap
from tacit.ledger.epsilons import state_spent as state_spent
from tacit.ledger.heads import FileHead as FileHead
from tacit.ledger.heads import HeadStore as HeadStore
from tacit.ledger.inspection import Inspection as Inspection
from tacit.ledger.inspection import inspect_ledger as inspect_ledger
from tacit.ledger.opener import open_ledger as open_ledger
from tacit.ledger.refusals import BudgetExhausted as BudgetExhausted
from tacit.ledger.refusals import CapChanged as CapChanged
from tacit.ledger.refusals import DrawFailed as DrawFailed
from tacit.ledger.refusals import KeyReused as KeyReused
from tacit.ledger.refusals import LedgerFailed as LedgerFailed
from tacit.ledger.refusals import LedgerHeld as LedgerHeld
from tacit.ledger.refusals import LedgerRefused as LedgerRefused
from tacit.ledger.refusals import LedgerUnavailable as LedgerUnavailable
from tacit.ledger.refusals import UnitsDiffer as UnitsDiffer
from tacit.ledger.refusals import UnknownBudget as UnknownBudget
from tacit.ledger.replay import Verification as Verification
from tacit.ledger.requests import Balance as Balance
from tacit.ledger.requests import Charge as Charge
from tacit.ledger.requests import Holder as Holder
from tacit.ledger.requests import Release as Release
from tacit.ledger.requests import Request as Request
from tacit.ledger.requests import canonical as canonical
from tacit.ledger.states import StoredState as StoredState
from tacit.ledger.store import Ledger as Ledger
from tacit.ledger.tokens import epoch_token as epoch_token
from tacit.ledger.tokens import operator_anchor as operator_anchor
