"""The tables, and the ordered steps that make them. A step that was published never changes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)

from tacit.ledger.refusals import LedgerRefused

metadata = MetaData()

versions = Table("ledger_schema", metadata, Column("version", BigInteger, primary_key=True))

head = Table(  # one row: where the chain stands; a writer locks it first
    "ledger_head",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("ledger", Text),
    Column("operator", Text),
    Column("epoch", BigInteger),
    Column("sequence", BigInteger),
    Column("hash", Text),
)

budgets = Table(
    "ledger_budgets",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("tenant", Text),
    Column("kind", Text),
    Column("name", Text),
    Column("unit", Text),
    Column("cap", BigInteger),
    Column("spent", BigInteger),
    Column("delta_cap", BigInteger),
    Column("delta_spent", BigInteger),
    Column("epoch_cap", BigInteger),
    Column("epoch", BigInteger),
    Column("epoch_spent", BigInteger),
)

requests = Table(
    "ledger_requests",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("tenant", Text),
    Column("subject", Text),
    Column("operation", Text),
    Column("request_key", Text),
    Column("payload", Text),
)

answers = Table(  # NULL: drawing failed, and was paid for
    "ledger_answers",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("answer", LargeBinary),
)

states = Table(  # the newest of every name; `sequence` is the entry that holds its hash
    "ledger_states",
    metadata,
    Column("name", Text, primary_key=True),
    Column("sequence", BigInteger),
    Column("state", LargeBinary),
)

log = Table(
    "ledger_log",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("kind", Text),
    Column("body", Text),
    Column("hash", Text),
)

checkpoints = Table(  # the newest ones; `sequence` is the entry that holds the hash of `state`
    "ledger_checkpoints",
    metadata,
    Column("sequence", BigInteger, primary_key=True),
    Column("state", Text),
)

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
        unit TEXT NOT NULL CHECK (unit IN ('pure', 'zcdp', 'approximate')),
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

_STATES = (
    """CREATE TABLE ledger_states (
        name TEXT PRIMARY KEY,
        sequence {big} NOT NULL REFERENCES ledger_requests (sequence),
        state {bytes} NOT NULL
    ) {strict}""",
)

_CHECKPOINTS = (  # without guards: it may be emptied at any time, and then a start takes longer
    """CREATE TABLE ledger_checkpoints (
        sequence {big} PRIMARY KEY,
        state TEXT NOT NULL
    ) {strict}""",
)

_GUARDED = {
    "UPDATE": ("ledger_requests", "ledger_answers", "ledger_log"),
    "DELETE": ("ledger_requests", "ledger_answers", "ledger_log", "ledger_budgets", "ledger_head"),
}
_REFUND = "NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.epoch < OLD.epoch"


def _sqlite_guards() -> tuple[str, ...]:
    """Against slips of a hand at a prompt; who wants to change the file can, and `verify` tells."""
    stop = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    kept = tuple(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} {stop}"
        for verb, tables in _GUARDED.items()
        for table in tables
    )
    return (
        *kept,
        f"CREATE TRIGGER ledger_refund BEFORE UPDATE ON ledger_budgets WHEN {_REFUND} {stop}",
    )


def _postgres_guards() -> tuple[str, ...]:
    stop = """CREATE FUNCTION ledger_only_added_to() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$"""
    run = "EXECUTE FUNCTION ledger_only_added_to()"
    row = f"FOR EACH ROW WHEN ({_REFUND})"
    kept = tuple(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} OR TRUNCATE ON {table} {run}"
        for verb, tables in _GUARDED.items()
        for table in tables
    )
    return (
        stop,
        *kept,
        f"CREATE TRIGGER ledger_refund BEFORE UPDATE ON ledger_budgets {row} {run}",
    )


def _state_guards(dialect: str) -> tuple[str, ...]:
    """A state goes forward only."""
    table, back = "ledger_states", "NEW.sequence <= OLD.sequence"
    if dialect == "sqlite":
        stop = "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
        return (
            f"CREATE TRIGGER {table}_delete BEFORE DELETE ON {table} {stop}",
            f"CREATE TRIGGER {table}_back BEFORE UPDATE ON {table} WHEN {back} {stop}",
        )
    run = "EXECUTE FUNCTION ledger_only_added_to()"
    row = f"FOR EACH ROW WHEN ({back})"
    return (
        f"CREATE TRIGGER {table}_delete BEFORE DELETE OR TRUNCATE ON {table} {run}",
        f"CREATE TRIGGER {table}_back BEFORE UPDATE ON {table} {row} {run}",
    )


_WORDS = {
    "sqlite": {"big": "INTEGER", "bytes": "BLOB", "strict": "STRICT"},
    "postgresql": {"big": "BIGINT", "bytes": "BYTEA", "strict": ""},
}


def steps(dialect: str) -> tuple[tuple[str, ...], ...]:
    """The statements of every step, oldest first; their number is the schema's version."""
    guards = _sqlite_guards() if dialect == "sqlite" else _postgres_guards()
    made, kept, checked = (
        tuple(line.format(**_WORDS[dialect]) for line in tables)
        for tables in (_TABLES, _STATES, _CHECKPOINTS)
    )
    return (made, guards, (*kept, *_state_guards(dialect)), checked)


STATES_SINCE = 3
"""The version that brought kept states."""


def migrate(connection: Connection) -> None:
    """Bring the tables to this version, in the caller's transaction.

    LedgerRefused if they were made by a newer version.
    """
    dialect = connection.dialect.name
    wanted = steps(dialect)
    done = version(connection)
    if done == 0:
        big = _WORDS[dialect]["big"]
        connection.execute(
            text(f"CREATE TABLE IF NOT EXISTS ledger_schema (version {big} PRIMARY KEY)")
        )
    for number, statements in enumerate(wanted[done:], start=done + 1):
        for statement in statements:
            connection.exec_driver_sql(statement)
        connection.execute(insert(versions).values(version=number))


def version(connection: Connection) -> int:
    """Of the tables that are there; 0 where there are none. LedgerRefused if it is unknown."""
    if not inspect(connection).has_table(versions.name):
        return 0
    found = sorted(connection.scalars(select(versions.c.version)))
    known = len(steps(connection.dialect.name))
    if found != list(range(1, len(found) + 1)) or len(found) > known:
        raise LedgerRefused(
            "This store was made by a newer version of tacit, or its list of versions is damaged. "
            "It is not used. Install the version that wrote it."
        )
    return len(found)
