"""The tables of a ledger, and the statements that make them."""

from __future__ import annotations

import sqlalchemy as sa

from tacit.ledger.refusals import LedgerRefused

metadata = sa.MetaData()


def _table(name: str, /, **columns: type[sa.BigInteger | sa.LargeBinary | sa.Text]) -> sa.Table:
    """Describe a table, whose first column is the key."""
    key = next(iter(columns))
    described = []
    for column, kind in columns.items():
        described.append(sa.Column(column, kind, primary_key=column == key))
    return sa.Table(name, metadata, *described)


_INT, _TEXT = sa.BigInteger, sa.Text
versions = _table("ledger_schema", version=_INT)
head = _table(  # one row: where the chain stands; a writer locks it first
    "ledger_head", id=_INT, ledger=_TEXT, operator=_TEXT, epoch=_INT, sequence=_INT, hash=_TEXT
)
_HOLDER = ("tenant", "kind", "name", "unit")
_SUMS = ("cap", "spent", "delta_cap", "delta_spent", "epoch_cap", "epoch", "epoch_spent")
budgets = _table(
    "ledger_budgets", id=_INT, **dict.fromkeys(_HOLDER, _TEXT), **dict.fromkeys(_SUMS, _INT)
)
_REQUEST = ("tenant", "subject", "operation", "request_key", "payload")
requests = _table("ledger_requests", sequence=_INT, **dict.fromkeys(_REQUEST, _TEXT))
# In an answer NULL: drawing failed, and was paid for. Of states the newest of every name, whose
# `sequence` is the entry that holds its hash, as it is for the newest checkpoints.
answers = _table("ledger_answers", sequence=_INT, answer=sa.LargeBinary)
states = _table("ledger_states", name=_TEXT, sequence=_INT, state=sa.LargeBinary)
log = _table("ledger_log", sequence=_INT, kind=_TEXT, body=_TEXT, hash=_TEXT)
checkpoints = _table("ledger_checkpoints", sequence=_INT, state=_TEXT)

# {big} {bytes} {strict} are the words that the two stores spell differently.
_TABLES = (
    """CREATE TABLE ledger_head (
        id {big} PRIMARY KEY CHECK (id = 1),
        ledger TEXT NOT NULL,
        operator TEXT,
        epoch {big} NOT NULL CHECK (epoch >= 0),
        sequence {big} NOT NULL CHECK (sequence >= 1),
        hash TEXT NOT NULL
    ) {strict}""",
    """CREATE TABLE ledger_budgets (
        id {big} PRIMARY KEY,
        tenant TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('dataset', 'subject')),
        name TEXT NOT NULL,
        unit TEXT NOT NULL CHECK (unit IN ('pure', 'zcdp', 'gdp', 'approximate')),
        cap {big} NOT NULL CHECK (cap BETWEEN 1 AND 1000000000000000000),
        spent {big} NOT NULL CHECK (spent BETWEEN 0 AND cap),
        delta_cap {big} NOT NULL CHECK (delta_cap BETWEEN 0 AND 1000000000000000000),
        delta_spent {big} NOT NULL CHECK (delta_spent BETWEEN 0 AND delta_cap),
        epoch_cap {big} CHECK (epoch_cap BETWEEN 1 AND 1000000000000000000),
        epoch {big} NOT NULL CHECK (epoch >= 0),
        epoch_spent {big} NOT NULL
            CHECK (epoch_spent BETWEEN 0 AND spent
                   AND (epoch_cap IS NULL OR epoch_spent <= epoch_cap)),
        UNIQUE (tenant, kind, name)
    ) {strict}""",
    """CREATE TABLE ledger_requests (
        sequence {big} PRIMARY KEY,
        tenant TEXT NOT NULL,
        subject TEXT NOT NULL,
        operation TEXT NOT NULL,
        request_key TEXT NOT NULL,
        payload TEXT NOT NULL,
        UNIQUE (tenant, subject, operation, request_key)
    ) {strict}""",
    """CREATE TABLE ledger_answers (
        sequence {big} PRIMARY KEY REFERENCES ledger_requests (sequence),
        answer {bytes}
    ) {strict}""",
    """CREATE TABLE ledger_log (
        sequence {big} PRIMARY KEY,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL
    ) {strict}""",
)

_STATES = """CREATE TABLE ledger_states (
        name TEXT PRIMARY KEY,
        sequence {big} NOT NULL REFERENCES ledger_requests (sequence),
        state {bytes} NOT NULL
    ) {strict}"""

# Without guards: it may be emptied at any time, and then a start takes longer.
_CHECKPOINTS = """CREATE TABLE ledger_checkpoints (
        sequence {big} PRIMARY KEY,
        state TEXT NOT NULL
    ) {strict}"""

_GUARDED = {
    "UPDATE": ("ledger_requests", "ledger_answers", "ledger_log"),
    "DELETE": ("ledger_requests", "ledger_answers", "ledger_log", "ledger_budgets", "ledger_head"),
}
_REFUND = "NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.epoch < OLD.epoch"
_BACK = "NEW.sequence <= OLD.sequence"
_FUNCTION = """CREATE FUNCTION ledger_only_added_to() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$"""


def _guard(dialect: str, name: str, verb: str, table: str, when: str = "") -> str:
    """Return a trigger that stops changes.

    It stops slips of a hand at a prompt. A person who wants to change the file can, and `verify`
    finds it.
    """
    if dialect == "sqlite":
        stop = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        when = f"WHEN {when} " if when else ""
    else:
        stop = "EXECUTE FUNCTION ledger_only_added_to()"
        verb = verb if when else f"{verb} OR TRUNCATE"
        when = f"FOR EACH ROW WHEN ({when}) " if when else ""
    return f"CREATE TRIGGER {name} BEFORE {verb} ON {table} {when}{stop}"


def _guards(dialect: str) -> tuple[str, ...]:
    """Return triggers that keep rows as they are and refunds away."""
    made = [] if dialect == "sqlite" else [_FUNCTION]
    for verb, tables in _GUARDED.items():
        made += [_guard(dialect, f"{table}_{verb.lower()}", verb, table) for table in tables]
    made.append(_guard(dialect, "ledger_refund", "UPDATE", "ledger_budgets", _REFUND))
    return tuple(made)


_WORDS = {
    "sqlite": {"big": "INTEGER", "bytes": "BLOB", "strict": "STRICT"},
    "postgresql": {"big": "BIGINT", "bytes": "BYTEA", "strict": ""},
}


def statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that make all tables and guards, in order."""
    spelled = _WORDS[dialect]
    tables = [table.format(**spelled) for table in (*_TABLES, _STATES, _CHECKPOINTS)]
    states_guards = (
        _guard(dialect, "ledger_states_delete", "DELETE", "ledger_states"),
        _guard(dialect, "ledger_states_back", "UPDATE", "ledger_states", _BACK),
    )
    return (*tables, *_guards(dialect), *states_guards)


VERSION = 1
"""Number of the tables' layout."""


def create_tables(connection: sa.Connection) -> None:
    """Make the tables where there are none, in the caller's transaction.

    Raises:
        LedgerRefused: There are tables of another version.
    """
    if has_tables(connection):
        return
    dialect = connection.dialect.name
    big = _WORDS[dialect]["big"]
    connection.execute(sa.text(f"CREATE TABLE ledger_schema (version {big} PRIMARY KEY)"))
    for statement in statements(dialect):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(versions).values(version=VERSION))


def has_tables(connection: sa.Connection) -> bool:
    """Say whether there are tables of this version.

    Raises:
        LedgerRefused: There are tables of another version.
    """
    if not sa.inspect(connection).has_table(versions.name):
        return False
    if list(connection.scalars(sa.select(versions.c.version))) != [VERSION]:
        raise LedgerRefused(
            "This store was made by another version of tacit, or its version is damaged. It is not "
            "used. Install the version that wrote it."
        )
    return True
