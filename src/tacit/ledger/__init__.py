"""The ledger, a durable store of privacy budgets: a charge is on disk before its answer is given.

ledger = open_ledger("budgets.db")
ratings = Holder.dataset("shop", "ratings")
ledger.open_budget(ratings, Cap.pure("2"))
request = Request("shop", "analyst-1", "top-items", "key-1", canonical({"n": 10}))
ledger.release(request, [Charge(ratings, Cost.pure("0.1"))], draw).answer

opener, addresses    opening a ledger
store                the class `Ledger`
requests, amounts    requests and answers; costs, caps and their units
epsilons             what an amount means as epsilon at a delta
transactions         the steps of one charge, up to the commit
states, statements   stored states; prepared SQL statements
chain, tokens        the log's hash chain; the tokens that begin an epoch
heads                second places, which remember the last entry of the chain
log_state            the state that follows from the entries of a log
replay, checkpoints  comparing that state with all tables; shortening the next replay
sqlite, postgres     the two kinds of store
schema               their tables
inspection           reading, backup and restore
refusals             errors and their messages
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
from tacit.ledger.epsilons import stated_epsilon_of_cap as stated_epsilon_of_cap
from tacit.ledger.epsilons import stated_epsilon_spent as stated_epsilon_spent
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
