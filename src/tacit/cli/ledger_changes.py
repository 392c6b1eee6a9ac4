"""`tacit ledger create`, `open-budget`, `advance`, `token`: what an operator does to a ledger.

Also where a ledger is, and budgets as rows, as its commands share them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.errors import ConfigError, OutputError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.ledger import Balance, Cap

Where = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://HOST/DATABASE.")
]
Second = Annotated[
    str | None,
    typer.Option(
        help="The second place of the chain's head: a file, or postgresql://HOST/DATABASE; by "
        "default LEDGER.head for a file."
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--operator-key", help="The file with the operator's key, which makes epochs."),
]


def emit(
    result: dict[str, Any], where: str, second: str | None, as_json: bool, show: Callable[[], None]
) -> None:
    """A command's result, with a warning where one restore moves store and second place back."""
    from tacit.ledger.opening import TOGETHER, together

    warnings = [TOGETHER] if together(where, second) else []
    for warning in () if as_json else warnings:  # with --json they stand in the object
        typer.echo(f"Warning: {warning}", err=True)
    terminal.emit({**result, "warnings": warnings}, as_json=as_json, render=lambda _: show())


def again(where: str, second: str | None) -> str:
    """The ledger as it is typed in the next command; an address may hold a password."""
    shown = "LEDGER" if "://" in where else where
    more = "SECOND" if second and "://" in second else second
    return f"{shown} --second {more}" if more else shown


def budget_row(balance: Balance) -> dict[str, Any]:
    """Amounts in millionths, deltas in steps of 1e-18."""
    return {
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


def show_budgets(title: str, budgets: list[dict[str, Any]]) -> None:
    """A table with exact decimals."""
    columns = ("tenant", "kind", "name", "unit", "cap", "spent", "in this epoch", "of at most")
    rows = [
        (
            *(row[name] for name in ("tenant", "kind", "name", "unit")),
            *(_amount(row["cap"], row["delta_cap"]), _amount(row["spent"], row["delta_spent"])),
            *(_amount(row["epoch_spent"]), _amount(row["epoch_cap"])),
        )
        for row in budgets
    ]
    terminal.table(title, columns, rows)


def _amount(steps: int | None, delta: int = 0) -> str | None:
    """Exact decimals; a delta to three digits: "1 (delta 1e-06)"."""
    if steps is None:
        return None
    text = f"{Decimal(steps).scaleb(-6).normalize():f}"
    return f"{text} (delta {delta / 1e18:.3g})" if delta else text


def create(
    where: Where, second: Second = None, operator_key: KeyFile = None, as_json: JSON = False
) -> None:
    """Make a new ledger.

    With --operator-key it has epochs; a key that is not there yet is made, for its owner only.
    """
    from tacit.ledger import anchor_of, inspect_ledger, open_ledger

    try:
        inspect_ledger(where, second=second)
    except ConfigError:
        pass
    else:
        raise ConfigError("There is a ledger here already. Look at it with  tacit ledger show.")
    key, new = (None, False) if operator_key is None else _key_or_new(operator_key)
    operator = None if key is None else anchor_of(key)
    with open_ledger(where, second=second, operator=operator) as ledger:
        result = {"ledger": ledger.head.ledger, "head": ledger.head.hash, "epochs": key is not None}

    def show() -> None:
        terminal.say(f"A new ledger: {result['ledger']}.")
        if new:
            terminal.say(
                f"The operator's key is in {operator_key}. Keep a copy away from this machine: "
                "without it no epoch can begin, and anyone who has it can begin one."
            )
        open_one = f"tacit ledger open-budget {again(where, second)} --tenant T --dataset NAME"
        terminal.next_step(f"Next:  {open_one} --epsilon 2")

    emit({**result, "operator_key": operator_key, "new_key": new}, where, second, as_json, show)


def open_budget(
    where: Where,
    tenant: Annotated[str, typer.Option(help="Whose data they are.")],
    dataset: Annotated[list[str] | None, typer.Option(help="A data set; may be repeated.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="A person's pseudonym; may be repeated.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The cap for life, in nats.")] = None,
    delta: Annotated[str | None, typer.Option(help="With --epsilon: the cap of delta.")] = None,
    rho: Annotated[str | None, typer.Option(help="The cap for life, in zCDP.")] = None,
    per_epoch: Annotated[
        str | None, typer.Option(help="A cap within each epoch as well, in the same unit.")
    ] = None,
    second: Second = None,
    as_json: JSON = False,
) -> None:
    """Open budgets, each with a lifetime cap.

    An existing budget with the same cap is unchanged; another cap is refused.
    """
    from tacit.ledger import Holder, open_ledger

    cap = _cap(epsilon, delta, rho, per_epoch)
    holders = [Holder.dataset(tenant, name) for name in dataset or []]
    holders += [Holder.subject(tenant, name) for name in subject or []]
    if not holders:
        raise ConfigError("Say whose budget:  --dataset NAME  or  --subject NAME.")
    holders = list(dict.fromkeys(holders))
    with open_ledger(where, second=second, create=False) as ledger:
        for holder in holders:
            ledger.open_budget(holder, cap)
        budgets = [budget_row(ledger.balance(holder)) for holder in holders]

    def show() -> None:
        show_budgets("Open", budgets)
        terminal.next_step(f"Next:  tacit ledger show {again(where, second)}")

    emit({"budgets": budgets}, where, second, as_json, show)


def _cap(epsilon: str | None, delta: str | None, rho: str | None, per_epoch: str | None) -> Cap:
    from tacit.ledger import Cap

    if rho is not None and epsilon is None and delta is None:
        return Cap.zcdp(rho, per_epoch=per_epoch)
    if epsilon is None or rho is not None:
        raise ConfigError("Say one cap:  --epsilon E,  --epsilon E --delta D,  or  --rho R.")
    if delta is not None:
        return Cap.approximate(epsilon, delta, per_epoch=per_epoch)
    return Cap.pure(epsilon, per_epoch=per_epoch)


def advance(
    where: Where,
    second: Second = None,
    operator_key: KeyFile = None,
    token: Annotated[
        str | None, typer.Option(help="The next epoch's token, where the key is kept elsewhere.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Begin the next epoch.

    Caps per epoch are reset, lifetime caps are not.
    """
    from tacit.ledger import open_ledger, token_of

    if (operator_key is None) == (token is None):
        raise ConfigError("Give the operator's key, --operator-key FILE, or one --token.")
    with open_ledger(where, second=second, create=False) as ledger:
        if operator_key is not None:
            token = token_of(_key(operator_key), ledger.epoch + 1)
        result = {"epoch": ledger.advance_epoch(token or ""), "head": ledger.head.hash}
    said = f"Epoch {result['epoch']} has begun."
    emit(result, where, second, as_json, lambda: terminal.say(said))


def token(
    epoch: Annotated[int, typer.Argument(help="The epoch that it begins, from 1.")],
    operator_key: Annotated[Path, typer.Option("--operator-key", help="The operator's key.")],
    as_json: JSON = False,
) -> None:
    """Print the token of an epoch, where the key is stored.

    It is what  tacit ledger advance --token  takes.
    """
    from tacit.ledger import token_of

    result = {"epoch": epoch, "token": token_of(_key(operator_key), epoch)}
    terminal.emit(result, as_json=as_json, render=lambda found: typer.echo(found["token"]))


def _key_or_new(path: Path) -> tuple[bytes, bool]:
    """The key, and whether it was made now."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _key(path), False
    except OSError as error:
        raise OutputError(f"{path}: the key cannot be written ({error.strerror}).") from None
    key = secrets.token_bytes(32)
    with os.fdopen(file, "w", encoding="ascii") as opened:
        opened.write(f"{key.hex()}\n")
        opened.flush()
        os.fsync(opened.fileno())
    return key, True


def _key(path: Path) -> bytes:
    """Never echoed, whatever is in the file."""
    try:
        return bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ConfigError(f"{path}: the key cannot be read ({error.strerror}).") from None
    except ValueError:
        raise ConfigError(
            f"{path}: no operator's key. It is one line of at least 64 hexadecimal digits, as "
            "tacit ledger create --operator-key FILE  makes it."
        ) from None
