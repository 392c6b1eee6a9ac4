"""The tables of a ledger, and the SQL statements that create them."""

from __future__ import annotations

import sqlalchemy as sa

from tacit.ledger.refusals import LedgerRefused

metadata = sa.MetaData()


def _table(name: str, /, **columns: type[sa.BigInteger | sa.LargeBinary | sa.Text]) -> sa.Table:
    """Describe a table for SQLAlchemy by the types of its columns; the first column is the key."""
    primary_key = next(iter(columns))
    sql_columns = []
    for column_name, column_type in columns.items():
        is_key = column_name == primary_key
        sql_columns.append(sa.Column(column_name, column_type, primary_key=is_key))
    return sa.Table(name, metadata, *sql_columns)


_INT = sa.BigInteger
_TEXT = sa.Text
versions = _table("ledger_schema", version=_INT)
head = _table(  # has one row, the last entry of the chain; every writer locks that row first
    "ledger_head", id=_INT, ledger=_TEXT, operator=_TEXT, epoch=_INT, sequence=_INT, hash=_TEXT
)
_BUDGET_TEXTS = ("tenant", "kind", "name", "unit")
_BUDGET_NUMBERS = ("cap", "spent", "delta_cap", "delta_spent", "epoch_cap", "epoch", "epoch_spent")
budgets = _table(
    "ledger_budgets",
    id=_INT,
    **dict.fromkeys(_BUDGET_TEXTS, _TEXT),
    **dict.fromkeys(_BUDGET_NUMBERS, _INT),
)
_REQUEST_TEXTS = ("tenant", "subject", "operation", "request_key", "payload")
requests = _table("ledger_requests", sequence=_INT, **dict.fromkeys(_REQUEST_TEXTS, _TEXT))
# An answer that is NULL was paid for, but could not be drawn. `states` holds the newest state of
# each name. In `states` and `checkpoints`, `sequence` is the log entry that holds the state's hash.
answers = _table("ledger_answers", sequence=_INT, answer=sa.LargeBinary)
states = _table("ledger_states", name=_TEXT, sequence=_INT, state=sa.LargeBinary)
log = _table("ledger_log", sequence=_INT, kind=_TEXT, body=_TEXT, hash=_TEXT)
checkpoints = _table("ledger_checkpoints", sequence=_INT, state=_TEXT)

# {big}, {bytes} and {strict} stand for the words of `_SPELLINGS`, which depend on the database.
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
    """CREATE TABLE ledger_states (
        name TEXT PRIMARY KEY,
        sequence {big} NOT NULL REFERENCES ledger_requests (sequence),
        state {bytes} NOT NULL
    ) {strict}""",
    # No trigger guards checkpoints: after deleting them, the next start only takes longer.
    """CREATE TABLE ledger_checkpoints (
        sequence {big} PRIMARY KEY,
        state TEXT NOT NULL
    ) {strict}""",
)

_GUARDED_TABLES = {
    "UPDATE": ("ledger_requests", "ledger_answers", "ledger_log"),
    "DELETE": ("ledger_requests", "ledger_answers", "ledger_log", "ledger_budgets", "ledger_head"),
}
"""For each SQL verb, the tables in which it may change or delete no row."""
_IS_REFUND = "NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.epoch < OLD.epoch"
_IS_OLDER_STATE = "NEW.sequence <= OLD.sequence"
_CREATE_FUNCTION = """CREATE FUNCTION ledger_only_added_to() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$"""


def _guard(dialect: str, name: str, verb: str, table: str, condition: str = "") -> str:
    """Return the statement that creates a trigger, which stops changes of a table.

    The trigger stops mistakes at a database prompt. A person who means to change the store can
    remove the trigger; then `verify` finds the change.

    Args:
        dialect: `sqlite` or `postgresql`.
        name: Name of the trigger.
        verb: The changes that it stops, `UPDATE` or `DELETE`.
        table: The table.
        condition: Only changes of rows for which this holds are stopped; "" for all.
    """
    if dialect == "sqlite":
        action = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        clause = f"WHEN {condition} " if condition else ""
        return f"CREATE TRIGGER {name} BEFORE {verb} ON {table} {clause}{action}"
    action = "EXECUTE FUNCTION ledger_only_added_to()"
    if not condition:
        return f"CREATE TRIGGER {name} BEFORE {verb} OR TRUNCATE ON {table} {action}"
    clause = f"FOR EACH ROW WHEN ({condition}) "
    return f"CREATE TRIGGER {name} BEFORE {verb} ON {table} {clause}{action}"


def _guards(dialect: str) -> tuple[str, ...]:
    """Return the statements of all triggers.

    They stop changes and deletions of rows, refunds, and states older than the stored ones.
    """
    triggers = [] if dialect == "sqlite" else [_CREATE_FUNCTION]
    for verb, tables in _GUARDED_TABLES.items():
        triggers += [_guard(dialect, f"{table}_{verb.lower()}", verb, table) for table in tables]
    triggers += [
        _guard(dialect, "ledger_refund", "UPDATE", "ledger_budgets", _IS_REFUND),
        _guard(dialect, "ledger_states_delete", "DELETE", "ledger_states"),
        _guard(dialect, "ledger_states_back", "UPDATE", "ledger_states", _IS_OLDER_STATE),
    ]
    return tuple(triggers)


_SPELLINGS = {
    "sqlite": {"big": "INTEGER", "bytes": "BLOB", "strict": "STRICT"},
    "postgresql": {"big": "BIGINT", "bytes": "BYTEA", "strict": ""},
}


def statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that create all tables except `ledger_schema`, and the triggers.

    Args:
        dialect: `sqlite` or `postgresql`.
    """
    spellings = _SPELLINGS[dialect]
    tables = [table.format(**spellings) for table in _TABLES]
    return (*tables, *_guards(dialect))


VERSION = 1
"""Version of the tables' layout."""


def create_tables(connection: sa.Connection) -> None:
    """Create the tables if there are none, in the caller's transaction.

    Raises:
        LedgerRefused: There are tables of another version.
    """
    if has_tables(connection):
        return
    dialect = connection.dialect.name
    big = _SPELLINGS[dialect]["big"]
    connection.execute(sa.text(f"CREATE TABLE ledger_schema (version {big} PRIMARY KEY)"))
    for statement in statements(dialect):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(versions).values(version=VERSION))


def has_tables(connection: sa.Connection) -> bool:
    """Say whether the store has the tables of a ledger.

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
