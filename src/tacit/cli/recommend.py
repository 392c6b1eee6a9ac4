"""`tacit recommend`: a list for one person, from a model file and their own ratings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_beside
from tacit.cli.source import DELIMITER, ITEM, STARS, USER
from tacit.data.cold_items import read_cold_items
from tacit.design import ExecutionOptions, option, usefulness
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Result, Table

if TYPE_CHECKING:
    from tacit.data.tables.names import Role
    from tacit.recommenders import Recommendation

app = typer.Typer()

MOST_REASONS = 2
"""Most reasons that are given for a recommendation."""


@command(app)
def recommend(
    model: Path = option("A model file that  tacit fit  wrote.", argument="model"),
    history: Path | None = option(
        "The person's own ratings: columns item and rating, for an X-Map with alpha also the time."
    ),
    n: int = option("How many items.", default=10, least=1, flag="-n"),
    at_device: bool = option(
        "From true stars and the item table, as a device does: nothing leaves."
    ),
    about: list[str] | None = option("A hidden attribute, NAME=VALUE: from a release."),
    exclude: list[str] | None = option("Items to leave out: ids with commas, or @FILE."),
    candidates: list[str] | None = option("Only these items: ids with commas, or @FILE."),
    cold: Path | None = option(
        "Items that no one rated, listed too: a CSV of ids and of the catalogue's columns."
    ),
    target: str | None = option("Only this target domain of an X-Map; all if left out."),
    memory: Path | None = option("What the device decided; default: HISTORY.released.json"),
    all_: Path | None = option("Ratings of all people: a list for each, in --out.", flag="--all"),
    out: Path | None = option(
        "With --all: the file to write: .parquet, .csv, .jsonl or .sqlite; orders-lists.parquet "
        "beside orders.csv.",
        flag="--out -o",
    ),
    into: str | None = option(
        "With --all: a database instead of a file, postgresql://HOST/NAME or redis://HOST:PORT/0."
    ),
    engine: str = option("With --all: 'local', or 'spark' with --remote.", default="local"),
    remote: str | None = option("Spark Connect server, sc://HOST:PORT."),
    tasks: int | None = option("In how many tasks people are parted there.", least=1),
    at: datetime | None = option(
        "What would be sent at that time, UTC; nothing is stored.", flag="--as-of"
    ),
    show_release: bool = option("Print the bytes that would leave the device."),
    user: str | None = USER,
    item: str | None = ITEM,
    rating: str | None = STARS,
    time: str | None = option("Column of the time, for an X-Map with alpha."),
    delimiter: str | None = DELIMITER,
    force: bool = FORCE,
) -> Result:
    """Recommend items to a person who need not have been in training; rated items are left out.

    With --at-device the list is made as a device makes it, and nothing leaves the device: the best
    choice if the model's item table may be published. With --about, it is made from an
    obfuscated release, as a remote recommender would make it. Without either, it is computed here
    from the true stars and the model file, and nothing is sent anywhere.
    """
    from tacit.designs.standard_scheme import StandardScheme
    from tacit.designs.xmap.model import XMap
    from tacit.profile_sums.model import PrivateLists
    from tacit.recommenders import load_model

    fitted = load_model(model)
    execution = ExecutionOptions(engine=engine, remote=remote, tasks=tasks)
    if all_ is not None:
        from tacit.cli.all_lists import write_all_lists

        if out is not None and into is not None:
            raise ConfigError("Lists go to one place: give --out FILE or --into ADDRESS.")
        if into is None:
            out = out or name_beside(all_, ending="-lists.parquet", force=force)
        columns: dict[Role, str | None] = {"user": user, "item": item, "rating": rating}
        return write_all_lists(fitted, all_, into or str(out), execution, columns, n)
    if into is not None:
        raise ConfigError("--into is for the lists of all people: add --all RATINGS.")
    lists = fitted.sound_ if isinstance(fitted, XMap) else fitted
    for given, able, lacks in (
        ("--about" if about else "", isinstance(fitted, StandardScheme), "hides no attribute"),
        (
            "--at-device" if at_device else "",
            isinstance(lists, StandardScheme | PrivateLists),
            "has no item table",
        ),
        ("--cold" if cold else "", isinstance(lists, PrivateLists), "scores no items by features"),
        ("--target" if target else "", isinstance(fitted, XMap), "has no target domains"),
        (
            "--time" if time else "",
            isinstance(fitted, XMap) and fitted.weighs_by_time,
            "was not fitted with --alpha",
        ),
    ):
        if given and not able:
            raise ConfigError(f"{model} {lacks}, so {given} has no meaning here.")
    if at_device and about:
        raise ConfigError("--at-device releases nothing, so --about has no meaning beside it.")
    own, unknown = _history(history, fitted, item=item, rating=rating, delimiter=delimiter)
    known = {str(key): key for key in fitted.item_ids_.tolist()}

    def ids(texts: list[str]) -> list[Any]:
        """Read ids as the model writes them; unknown ones stay text and match nothing."""
        return [known.get(text, text) for text in terminal.parse_ids(texts)]

    wanted: dict[str, Any] = {
        "n": n,
        "exclude": ids(exclude or []),
        "candidates": ids(candidates) if candidates else None,
        **({} if target is None else {"target": target}),
        **({} if cold is None else {"cold": read_cold_items(cold, delimiter)}),
    }
    sent: dict[str, Any] = {"computed": "here"}
    times: dict[str, Any] = {}
    if isinstance(fitted, XMap) and fitted.weighs_by_time and history is not None:
        from tacit.data.tabular import read_history_times

        named = {"item": item, "time": time, "delimiter": delimiter}
        read = read_history_times(history, item_ids=fitted.history_ids_, **named)
        times = {"history_times": read}
    if about:
        if history is None:
            raise ConfigError("--about obfuscates a history: name one with --history FILE.")
        values = terminal.parse_name_values(about, "--about")
        stored = memory or history.with_name(history.name + ".released.json")
        made, sent = _from_letter(fitted, own, values, stored, at, wanted)
    elif at_device and not isinstance(lists, PrivateLists):
        made = fitted.recommend_at_device(own, **wanted)
        sent = {"computed": "at the device"}
    else:
        made = fitted.recommend(history=own, **wanted, **times)
        if isinstance(lists, PrivateLists):  # its file is public: wherever it is, nothing is sent
            sent = {"computed": "at the device", "personal": lists.released_.serves_lists}
    result = {
        "model": str(model),
        "rated": len(own),
        "unknown_items": unknown,
        "shown": None,
        "release": None,
        "personal": True,
        **sent,
        "hides": isinstance(fitted, StandardScheme),
        "item_table": isinstance(fitted, StandardScheme) and fitted.item_table,
        "useful": usefulness(fitted),
        "items": [
            {
                "rank": row.rank,
                "item_id": row.item_id,
                "title": fitted.titles_.get(row.item_id),
                "score": row.score,
                "cold": row.cold,
                **_reasons(fitted, row, own, times, of_scores=isinstance(lists, PrivateLists)),
            }
            for row in made
        ],
    }
    return Result(
        result, [*_describe_list(result, show_release)], _next_step(result, fitted, show_release)
    )


def _from_letter(
    model: Any,
    own: dict[Any, float],
    values: dict[str, str],
    memory: Path,
    at: datetime | None,
    wanted: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Make the list of the last letter's scores, or the popular one before it, and describe it."""
    from tacit.cli.device import answer_letter
    from tacit.designs.standard_scheme.messages import Release

    def facts(release: Release) -> dict[str, Any]:
        text = release.encode().decode()
        return {"computed": "from the release", "shown": len(release.ratings), "release": text}

    if model.variant == "published":
        made = model.exchange(own, values, **wanted)
        return made.recommendations, facts(made.release)
    spoken, scores = answer_letter(model, own, values, memory, at and at.replace(tzinfo=UTC))
    due = datetime.fromtimestamp(spoken.due, UTC).isoformat()
    sent = {"due": due, "notice": spoken.notice or None, "memory": str(memory)}
    if spoken.letter is None or scores is None:
        wanted = wanted | {"exclude": [*wanted["exclude"], *own]}
        return model.recommend(**wanted), sent | {"computed": "before the first letter"}
    return model.rank(scores, own, **wanted), facts(Release.decode(spoken.letter)) | sent


def _reasons(
    model: Any,
    row: Recommendation,
    own: dict[Any, float],
    times: dict[str, Any],
    *,
    of_scores: bool,
) -> dict[str, Any]:
    """Scores of "because you liked X", or predicted stars, of a recommender that explains.

    row: a line of the list; of an item that no one rated there are no reasons.
    times: empty, or the times of the person's ratings, as keyword of `predict`.
    """
    if row.cold or not hasattr(model, "explain"):
        return {}
    item = row.item_id
    if of_scores:
        because = model.explain(item, history=own, n=MOST_REASONS)
        return {
            "because": [
                {"item_id": each.name, "title": model.titles_.get(each.name), "score": each.score}
                for each in because
                if each.kind == "item"
            ],
            "features": [each.name for each in because if each.kind == "feature"],
        }
    predicted = float(model.predict([item], history=own, **times)[0])
    return {"stars": min(max(predicted, model.scale_.minimum), model.scale_.maximum)}


def _history(path: Path | None, model: Any, **columns: str | None) -> tuple[dict[Any, float], int]:
    """Read the person's ratings by the model's own ids; count the items that it does not know."""
    from tacit.data.columns import EVENTS
    from tacit.data.tabular import read_history

    if path is None:
        return {}, 0
    ids = getattr(model, "history_ids_", model.item_ids_)
    liked_from = getattr(model, "liked_from_", None)  # a model of events needs no stars
    events = getattr(model, "scale_", None) == EVENTS or liked_from == EVENTS.liked_from
    own = read_history(path, item_ids=ids, events=events, **columns)
    known = set(ids.tolist())
    unknown = sum(item not in known for item in own)
    if own and unknown == len(own):
        raise DataError(
            "the model knows none of these items",
            path=path,
            found=next(iter(own)),
            expected=f"ids such as {ids.tolist()[0]!r}",
            fix="Name the id's column with --item, or use the history of the same catalogue.",
        )
    return own, unknown


def _describe_list(result: dict[str, Any], show_release: bool) -> Iterator[Table | str]:
    yield _list(result["items"])
    if result["useful"]:
        yield result["useful"]
    if not result["personal"]:
        yield "Everyone gets this list: the model was fitted to too few people for personal lists."
    if result["unknown_items"]:
        yield f"{result['unknown_items']} rated items are not in the model."
    if result.get("notice"):
        yield result["notice"]
    if result.get("memory"):
        yield (
            f"What this device decided is kept in {result['memory']}, and its secret in "
            f"{result['memory']}.account: keep both, and as private as the ratings."
        )
    rated = f"{result['rated']} ratings"
    if result["computed"] == "before the first letter":
        yield (
            "This is what most people like: this device has sent no letter yet. The first one is "
            f"due at {result['due']}, whatever is rated until then."
        )
    elif result["shown"] is None:
        yield f"Computed {result['computed']} from {rated}; nothing was sent anywhere."
    else:
        yield f"Made from {result['shown']} obfuscated stars, out of {rated}."
        if show_release:
            yield f"The letter, byte for byte:\n{result['release']}"


def _next_step(result: dict[str, Any], model: Any, show_release: bool) -> str:
    """Choose the command that a person who got this list types next."""
    typed = terminal.command_line()
    card = f"tacit guarantee {shlex.quote(result['model'])}"
    if result["computed"] == "before the first letter":
        return f"{typed} --as-of {result['due'][:19]} --show-release  shows it now."
    if result["shown"] is not None and show_release:
        return f"{card}  shows what they hide."
    if result["shown"] is not None:
        return f"{typed} --show-release  prints the bytes that would leave the device."
    if result["computed"] == "at the device" or any("because" in row for row in result["items"]):
        return f"{card}  shows who is protected."
    if result["item_table"] and result["computed"] == "here":
        return f"{typed} --at-device  makes the list as a device does: nothing leaves."
    if result["hides"]:
        attribute = model.disclosure_.attributes[0]
        about = shlex.quote(f"{attribute.name}={attribute.values[0]}")
        return f"{typed} --about {about}  makes the list from a letter; put your own value."
    return ""


def _list(rows: list[dict[str, Any]]) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], object]] = {
        "rank": itemgetter("rank"),
        "item": itemgetter("item_id"),
    }
    if any(row["title"] for row in rows):
        columns["title"] = itemgetter("title")
    if any(row["cold"] for row in rows):
        columns["rated by"] = lambda row: "no one" if row["cold"] else None
    score = "stars" if any("stars" in row for row in rows) else "score"
    columns[score] = itemgetter(score)
    if any("because" in row for row in rows):
        columns["because you liked"] = _because
    return Table.from_rows("", columns, rows)


def _because(row: dict[str, Any]) -> str | None:
    because = row.get("because", [])
    return ", ".join(str(each["title"] or each["item_id"]) for each in because) or None
