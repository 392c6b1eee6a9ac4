"""`tacit ledger`: sets budgets, begins epochs, shows what was spent, checks, copies and restores.

A ledger is a file or a database in PostgreSQL, and its address is the path or the database's URL.
The second place of a ledger is where a copy of the hash of its latest entry is kept.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_output_beside
from tacit.design import option
from tacit.errors import ConfigError, OutputError, PrivacyError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.ledger import Balance, Cap, Inspection

app = typer.Typer(help="Set privacy budgets, and show what was spent.", no_args_is_help=True)

_START_OF_STORE = b"SQLite format 3\0"
"""The first bytes of every ledger that is a file."""
_ADDRESS_HELP = "A file, or postgresql://HOST/DATABASE."
_SECOND_HELP = (
    "Where a copy of the ledger's latest hash is kept: a file, or postgresql://HOST/DATABASE; by "
    "default LEDGER.head for a file."
)
_KEY_HELP = "The file with the operator's key, which begins epochs."
Shown = Sequence[Table | str]
"""Tables and sentences that are shown on the terminal."""
LedgerAddress = Annotated[str, typer.Argument(metavar="LEDGER", help=_ADDRESS_HELP)]
Second = Annotated[str | None, typer.Option(help=_SECOND_HELP)]
KeyFile = Annotated[Path | None, typer.Option("--operator-key", help=_KEY_HELP)]


@app.callback()
def _add_help() -> None:
    """Amounts are exact decimals: `--epsilon 0.1` is a tenth."""


@command(app)
def create(address: LedgerAddress, second: Second = None, operator_key: KeyFile = None) -> Result:
    """Make a new ledger.

    With --operator-key it has epochs. If there is no such file, a key is made, in a file that only
    its owner can read.
    """
    from tacit.ledger import inspect_ledger, open_ledger, operator_anchor

    try:
        inspect_ledger(address, second=second)
    except ConfigError:
        pass
    else:
        raise ConfigError("There is a ledger here already. Look at it with  tacit ledger show.")
    operator = None
    is_new_key = False
    if operator_key is not None:
        key, is_new_key = _read_or_make_key(operator_key)
        operator = operator_anchor(key)
    with open_ledger(address, second=second, operator=operator) as ledger:
        head = ledger.head
    result: dict[str, Any] = {
        "ledger": head.ledger,
        "head": head.hash,
        "epochs": operator is not None,
        "operator_key": operator_key,
        "new_key": is_new_key,
    }
    shown = [f"A new ledger: {result['ledger']}."]
    if is_new_key:
        shown.append(
            f"The operator's key is in {operator_key}. Keep a copy away from this machine: without "
            "it no epoch can begin, and anyone who has it can begin one."
        )
    after = (
        f"tacit ledger open-budget {_format_ledger_options(address, second)} --tenant shop "
        "--dataset orders --epsilon 2  opens a budget; put your own names."
    )
    return _make_result(result, shown, address, second, after)


@command(app)
def open_budget(
    address: LedgerAddress,
    tenant: str = option("Name of the tenant, whose data the budgets are for."),
    dataset: list[str] | None = option("A data set; may be repeated."),
    subject: list[str] | None = option("A person's pseudonym; may be repeated."),
    epsilon: str | None = option("The cap for life, in nats."),
    delta: str | None = option("With --epsilon: the cap of delta."),
    rho: str | None = option("The cap for life, in zCDP."),
    fits: bool = option(
        "With --epsilon and --delta: a budget for fits of private lists, in the unit gdp.",
        default=False,
    ),
    per_epoch: str | None = option("A cap within each epoch as well, in the same unit."),
    second: Second = None,
) -> Result:
    """Open budgets, each with a lifetime cap.

    A budget that is open already with the same cap stays unchanged. One with another cap is
    refused.
    """
    from tacit.ledger import Holder, open_ledger

    make_cap = _read_cap_of_fits if fits else _read_cap
    cap = make_cap(epsilon, delta, rho, per_epoch)
    holders = [Holder.dataset(tenant, name) for name in dataset or []]
    holders += [Holder.subject(tenant, name) for name in subject or []]
    if not holders:
        raise ConfigError("Say whose budget:  --dataset NAME  or  --subject NAME.")
    holders = list(dict.fromkeys(holders))
    with open_ledger(address, second=second, create=False) as ledger:
        for holder in holders:
            ledger.open_budget(holder, cap)
        budgets = [_describe_balance(ledger.balance(holder)) for holder in holders]
    shown = [_make_budget_table("Open", budgets)]
    ledger_options = _format_ledger_options(address, second)
    after = f"tacit ledger show {ledger_options}  shows what is spent and left."
    return _make_result({"budgets": budgets}, shown, address, second, after)


@command(app)
def advance(
    address: LedgerAddress,
    second: Second = None,
    operator_key: KeyFile = None,
    token: str | None = option("The next epoch's token, where the key is kept elsewhere."),
) -> Result:
    """Begin the next epoch.

    What was spent under caps per epoch is set to 0. What was spent under lifetime caps stays.
    """
    from tacit.ledger import epoch_token, open_ledger

    if (operator_key is None) == (token is None):
        raise ConfigError("Give the operator's key, --operator-key FILE, or one --token.")
    with open_ledger(address, second=second, create=False) as ledger:
        next_token = token or ""  # replaced below where the key is given
        if operator_key is not None:
            next_token = epoch_token(_read_key(operator_key), ledger.epoch + 1)
        result = {"epoch": ledger.advance_epoch(next_token), "head": ledger.head.hash}
    return _make_result(result, [f"Epoch {result['epoch']} has begun."], address, second)


@command(app, "token")
def print_token(
    epoch: int = option("The epoch that the token begins, 1 or more.", argument="epoch"),
    operator_key: Path = option("The operator's key."),
) -> Result:
    """Print the token that begins an epoch.

    Run it where the operator's key is stored, and give the token to  tacit ledger advance --token.
    """
    from tacit.ledger import epoch_token

    token = epoch_token(_read_key(operator_key), epoch)
    return Result({"epoch": epoch, "token": token}, (token,))


@command(app)
def backup(
    address: LedgerAddress,
    out: Path | None = option(
        "New file to write; budgets-backup.db beside budgets.db.", flag="--out -o"
    ),
    force: bool = option("Replace an earlier file of this name.", flag="--force", default=False),
) -> Result:
    """Copy a ledger that is a file, also while it is in use.

    The copy holds data that people sent to the service. Only its owner can read it.
    """
    from tacit.atomic_writes import check_writable
    from tacit.ledger import inspection

    out = out or _name_beside_ledger(address, "-backup.db", force=force)
    _refuse_own_file(out, address, None)
    if force and out.exists():
        check_writable(out)
        _refuse_other_file(out)
        # A backup is only written to a new file. The old one stays until the new one is complete.
        new_backup = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
        try:
            inspection.backup(address, new_backup)
            new_backup.replace(out)
        finally:
            new_backup.unlink(missing_ok=True)
    else:
        inspection.backup(address, out)
    ledger = _quote_address(address, "LEDGER")
    restoring = f"tacit ledger restore {ledger} --source {shlex.quote(str(out))}"
    advice = f"If the ledger is lost:  {restoring}"
    return Result({"ledger": address, "written": out}, (f"Wrote {out}. {advice}",))


@command(app)
def restore(
    address: LedgerAddress, source: Path = option("The backup."), second: Second = None
) -> Result:
    """Restore a lost ledger from a backup.

    A backup that lacks the entry whose hash is in the second place is refused: it lacks what was
    spent since the backup, and would give that budget back.
    """
    from tacit.ledger import inspection

    restored = inspection.restore(source, address, second=second).verification
    result = {
        "ledger": restored.head.ledger,
        "head": restored.head.hash,
        "entries": restored.entries,
    }
    shown = [f"Restored {restored.entries} entries."]
    after = f"tacit ledger verify {_format_ledger_options(address, second)}  checks every entry."
    return _make_result(result, shown, address, second, after)


@command(app)
def show(address: LedgerAddress, second: Second = None) -> Result:
    """Show every budget with what was spent, and the stored states."""
    from tacit.ledger import inspect_ledger

    inspected = inspect_ledger(address, second=second)
    budgets = [_describe_balance(balance) for balance in inspected.balances]
    result = {**_summarise(inspected), "budgets": budgets, "states": inspected.states}
    shown = [_make_budget_table(f"Budgets, epoch {result['epoch']}", budgets)]
    if inspected.states:
        rows = [(state.name, state.size, state.sequence) for state in inspected.states]
        shown.append(Table("Stored states", ("name", "bytes", "of entry"), rows))
    return _make_result(result, [*shown, *_describe_summary(result)], address, second)


@command(app)
def verify(address: LedgerAddress, second: Second = None, as_json: JSON = False) -> None:
    """Replay the log from entry 1, and compare all tables with it.

    The hash in the second place is compared, too. When a service starts, it replays the log only
    from the last checkpoint. Exit code 5 if anything is wrong.
    """
    from tacit.ledger import inspect_ledger

    result = _summarise(inspect_ledger(address, second=second))
    terminal.show(_make_result(result, _describe_summary(result), address, second), as_json=as_json)
    if not result["sound"]:
        raise typer.Exit(PrivacyError.exit_code)


@command(app)
def export(
    address: LedgerAddress,
    out: Path | None = option(
        "File to write, in JSON; budgets-log.json beside budgets.db.", flag="--out -o"
    ),
    force: bool = FORCE,
    second: Second = None,
) -> Result:
    """Write the whole log with its hashes, for an auditor.

    It contains names, but no stored responses.
    """
    from tacit.atomic_writes import write_whole
    from tacit.ledger import inspect_ledger

    inspected = inspect_ledger(address, second=second)
    out = out or _name_beside_ledger(address, "-log.json", force=force)
    _refuse_own_file(out, address, second)
    document = terminal.to_json_types({**_summarise(inspected), "entries": inspected.entries})
    write_whole(out, (json.dumps(document, indent=1) + "\n").encode())
    result = {**_summarise(inspected), "written": out}
    shown = [*_describe_summary(result), f"The log is in {out}."]
    return _make_result(result, shown, address, second)


def _name_beside_ledger(address: str, ending: str, *, force: bool) -> Path:
    """Name a file beside a ledger; for a ledger in PostgreSQL, a file in the current folder.

    Args:
        address: File of the ledger, or address of its database.
        ending: Ending of the new name, such as "-log.json".
        force: Whether a file of the new name may be replaced.

    Raises:
        OutputError: There is a file of the new name, and it may not be replaced.
    """
    return name_output_beside(
        Path("ledger" if "://" in address else address), ending=ending, force=force
    )


def _refuse_own_file(out: Path, address: str, second: str | None) -> None:
    """Refuse to write over a file of the ledger itself, also under another spelling or a link.

    Args:
        out: File to write.
        address: File of the ledger, or address of its database.
        second: File or address of the second place; None: the default one.

    Raises:
        ConfigError: `out` is the ledger's file, its -wal or -journal, or its second place.
    """
    from tacit.ledger.addresses import default_head_path, parse_address

    own_files: list[Path] = []
    _, named_store = parse_address(address)
    if named_store is not None:
        if named_store.is_dir():  # a service's folder
            named_store = named_store / "budgets.db"
        own_files.append(default_head_path(named_store))
        for store in (named_store, named_store.resolve()):  # a link's log lies beside its target
            own_files.append(store)
            own_files += [store.with_name(store.name + ending) for ending in ("-wal", "-journal")]
    if second is not None:
        _, head_file = parse_address(second)
        own_files += [head_file] if head_file is not None else []
    for file in own_files:
        is_same_name = out.name == file.name and out.parent.resolve() == file.parent.resolve()
        if is_same_name or (out.exists() and file.exists() and out.samefile(file)):
            raise ConfigError(
                f"{out} is a file of the ledger itself: its store, its log or its second place. "
                "Name another file with --out."
            )


def _refuse_other_file(out: Path) -> None:
    """Raise ConfigError if a file is no SQLite store, as every backup is."""
    with out.open("rb") as file:
        if file.read(len(_START_OF_STORE)) != _START_OF_STORE:
            raise ConfigError(
                f"{out} is no earlier backup, so it is not replaced. Name another file with --out."
            )


def _read_cap(
    epsilon: str | None, delta: str | None, rho: str | None, per_epoch: str | None
) -> Cap:
    """Make the cap of a budget from the options that were typed; these say its unit.

    Args:
        epsilon: Epsilon of a cap in the pure or approximate unit; None: not typed.
        delta: Delta of a cap in the approximate unit; None: not typed.
        rho: Rho of a cap in zCDP; None: not typed.
        per_epoch: Cap within each epoch, in the same unit; None: there is none.

    Raises:
        ConfigError: The options that were typed do not fit one unit, or a value is not a number
            that this unit allows.
    """
    from tacit.ledger import Cap

    if rho is not None and epsilon is None and delta is None:
        return Cap.zcdp(rho, per_epoch=per_epoch)
    if epsilon is None or rho is not None:
        raise ConfigError("Say one cap:  --epsilon E,  --epsilon E --delta D,  or  --rho R.")
    if delta is not None:
        return Cap.approximate(epsilon, delta, per_epoch=per_epoch)
    return Cap.pure(epsilon, per_epoch=per_epoch)


def _read_cap_of_fits(
    epsilon: str | None, delta: str | None, rho: str | None, per_epoch: str | None
) -> Cap:
    """Make the cap of a budget that is charged for fits of private lists.

    The arguments are those of `_read_cap`.

    Raises:
        ConfigError: Epsilon or delta is missing, not a number or out of range, or another option
            was typed.
    """
    from tacit.designs.private.refits import cap_of_lifetime

    if epsilon is None or delta is None or rho is not None or per_epoch is not None:
        raise ConfigError("A budget of fits has two numbers:  --fits --epsilon E --delta D.")
    try:
        return cap_of_lifetime(float(epsilon), float(delta))
    except ValueError:
        raise ConfigError("--epsilon and --delta are numbers, such as 3 and 1e-6.") from None


def _read_or_make_key(path: Path) -> tuple[bytes, bool]:
    """Read the operator's key, or make one where there is no file.

    Returns:
        The key's bytes, and whether it was made now.

    Raises:
        ConfigError: The file is there, but cannot be read or holds no hexadecimal digits.
        OutputError: The file is not there, and cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read_key(path), False
    except OSError as error:
        raise OutputError(f"{path}: the key cannot be written ({error.strerror}).") from None
    key = secrets.token_bytes(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{key.hex()}\n")
        file.flush()
        os.fsync(file.fileno())
    return key, True


def _read_key(path: Path) -> bytes:
    """Read the operator's key. An error never shows what is in the file.

    The length of the key is not checked here.

    Raises:
        ConfigError: The file cannot be read, or holds something else than hexadecimal digits.
    """
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ConfigError(f"{path}: the key cannot be read ({error.strerror}).") from None
    except ValueError:
        raise ConfigError(
            f"{path}: no operator's key. It is one line of at least 64 hexadecimal digits, as "
            "tacit ledger create --operator-key FILE  makes it."
        ) from None


def _make_result(
    result: dict[str, Any], shown: Shown, address: str, second: str | None, after: str = ""
) -> Result:
    """Make a result, with a warning where the ledger and its second place share a device.

    If a backup of such a device is restored, spent budgets are given back, and no check notices it.

    Args:
        result: The result as JSON.
        shown: Tables and sentences of the result.
        address: File of the ledger, or address of its database.
        second: File or address of the second place; None: the default one.
        after: Command to suggest, with what it shows; "": none.
    """
    from tacit.ledger.addresses import SHARED_DEVICE_WARNING, shares_device

    warnings = [SHARED_DEVICE_WARNING] if shares_device(address, second) else []
    return Result({**result, "warnings": warnings}, shown, after)


def _format_ledger_options(address: str, second: str | None) -> str:
    """Format the arguments with which another command names the same ledger."""
    ledger = _quote_address(address, "LEDGER")
    return f"{ledger} --second {_quote_address(second, 'SECOND')}" if second else ledger


def _quote_address(address: str, placeholder: str) -> str:
    """Quote the path of a file for a shell; return a placeholder for the address of a database.

    The address of a database may hold a password, which must not be shown.

    Args:
        address: File, or address of a database.
        placeholder: What stands for the address of a database.
    """
    return placeholder if "://" in address else shlex.quote(address)


def _describe_balance(balance: Balance) -> dict[str, Any]:
    """Describe a balance in the values that --json prints.

    "epsilon" and "epsilon_cap" are stated at the delta "epsilon_delta". The amounts under "cap",
    "spent", "epoch_cap" and "epoch_spent" are in steps of the unit. "delta_cap" and "delta_spent"
    are in steps of 1e-18.
    """
    from tacit.ledger import epsilon_of_cap, stated_epsilon_of_cap, stated_epsilon_spent

    return {
        "epsilon": float(stated_epsilon_spent(balance)),
        "epsilon_cap": float(stated_epsilon_of_cap(balance.cap)),
        "epsilon_delta": epsilon_of_cap(balance.cap).delta,
        "number": balance.number,
        "tenant": balance.holder.tenant,
        "kind": balance.holder.kind,
        "name": balance.holder.name,
        "unit": balance.cap.unit.value,
        "cap": balance.cap.amount,
        "spent": balance.spent,
        "delta_cap": balance.cap.delta,
        "delta_spent": balance.delta_spent,
        "epoch_cap": balance.cap.per_epoch,
        "epoch_spent": balance.epoch_spent,
    }


def _make_budget_table(title: str, budgets: list[dict[str, Any]]) -> Table:
    """Make a table of budgets, from rows that `_describe_balance` made."""
    columns: dict[str, Callable[[dict[str, Any]], object]] = {
        "budget of": lambda row: f"{row['tenant']}: {row['kind']} {row['name']}",
        "epsilon": lambda row: f"{row['epsilon']:.4g}",
        "at most": lambda row: f"{row['epsilon_cap']:.4g}",
        "at delta": lambda row: f"{row['epsilon_delta']:.3g}",
        "stored": _format_stored_amounts,
    }
    if any(row["epoch_cap"] is not None for row in budgets):
        columns["in this epoch"] = _format_epoch_amounts
    return Table.from_rows(title, columns, budgets)


def _format_stored_amounts(row: dict[str, Any]) -> str:
    """Format what is spent of a lifetime cap, in the ledger's unit: "gdp 0.018 of 0.43".

    Deltas are shown only for the approximate unit, which adds them up. In the unit gdp, the stored
    delta is the one at which epsilon is stated; the table's column "at delta" shows it.
    """
    spent_delta = 0
    cap_delta = 0
    if row["unit"] == "approximate":
        spent_delta = row["delta_spent"]
        cap_delta = row["delta_cap"]
    spent = _format_amount(row, "spent", spent_delta)
    cap = _format_amount(row, "cap", cap_delta)
    return f"{row['unit']} {spent} of {cap}"


def _format_epoch_amounts(row: dict[str, Any]) -> str | None:
    """Format what was spent in this epoch; None for a budget without a cap per epoch."""
    if row["epoch_cap"] is None:
        return None
    return f"{_format_amount(row, 'epoch_spent')} of {_format_amount(row, 'epoch_cap')}"


def _format_amount(row: dict[str, Any], column: str, delta: int = 0) -> str:
    """Format an amount as an exact decimal, and a delta with three digits: "1 (delta 1e-06)".

    Args:
        row: Row of a balance.
        column: Column of the amount, in steps of the row's unit.
        delta: Delta in steps of 1e-18; 0: none is written.
    """
    from tacit.ledger import Unit

    text = f"{(Decimal(row[column]) / Unit(row['unit']).steps).normalize():f}"
    return f"{text} (delta {delta / 1e18:.3g})" if delta else text


def _summarise(inspected: Inspection) -> dict[str, Any]:
    """Summarise the replay of a ledger's log in the values that --json prints."""
    verification = inspected.verification
    return {
        "ledger": verification.head.ledger,
        "sound": verification.is_sound,
        "problems": verification.problems,
        "entries_read": verification.entries,
        "releases": verification.releases,
        "epoch": verification.epoch,
        "head": verification.head.hash,
    }


def _describe_summary(result: dict[str, Any]) -> list[str]:
    """Write the sentences for a summary that `_summarise` made."""
    if result["sound"]:
        counts = f"{result['entries_read']} entries replayed, {result['releases']} releases"
        return [f"Sound: {counts}, and the second place agrees."]
    problems = (f"  - {problem}" for problem in result["problems"])
    return ["Not sound: this ledger must not be spent from.", *problems]
