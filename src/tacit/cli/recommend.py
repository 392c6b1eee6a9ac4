"""`tacit recommend`: makes a list for one person, from a model file and the person's own ratings.

With --all it makes a list for each of many people: see `all_lists`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from tacit import terminal
from tacit.cli.commands import FORCE, command, name_output_beside
from tacit.cli.source import DELIMITER, ITEM, STARS, USER
from tacit.data.cold_items import read_cold_items
from tacit.design import ExecutionOptions, option, usefulness
from tacit.errors import ConfigError, DataError
from tacit.evaluation import Result, Table

if TYPE_CHECKING:
    from tacit.data.tables.names import Role
    from tacit.recommenders import Recommendation

app = typer.Typer()

# Classes of models that have options of their own; the command for other models imports neither.
STANDARD_SCHEME = "tacit.designs.standard_scheme.model.StandardScheme"
XMAP = "tacit.designs.xmap.model.XMap"

MOST_REASONS = 2
"""Most reasons of each kind, liked items and features, that are given for a recommendation."""


@command(app)
def recommend(
    model: Path = option("A model file that  tacit fit  wrote.", argument="model"),
    history: Path | None = option(
        "The person's own ratings: columns item and rating, for an X-Map with alpha also the time."
    ),
    n: int = option("Most items of a list.", default=10, least=1, flag="-n"),
    at_device: bool = option(
        "Make the list from true stars and the item table, as a device does: nothing leaves."
    ),
    about: list[str] | None = option(
        "The person's value of a hidden attribute, NAME=VALUE: make the list from a release."
    ),
    exclude: list[str] | None = option("Items to leave out: ids with commas, or @FILE."),
    candidates: list[str] | None = option("Only these items: ids with commas, or @FILE."),
    cold: Path | None = option(
        "Items that no one rated, listed too: a CSV of ids and of the catalogue's columns."
    ),
    target: str | None = option("Only this target domain of an X-Map; all if left out."),
    memory: Path | None = option(
        "With --about: file of what the device decided; default: HISTORY.released.json."
    ),
    all_: Path | None = option(
        "Ratings of many people: make a list for each, in --out or --into.", flag="--all"
    ),
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
    tasks: int | None = option("Number of Spark tasks that share the people.", least=1),
    trial_time: datetime | None = option(
        "With --about: also try what would be sent at that time, UTC, and make the list from it. "
        "What is sent now is stored as always; the trial is not.",
        flag="--as-of",
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
    obfuscated release, as a remote recommender would make it. With neither of them, it is computed
    here from the true stars and the model file, and nothing is sent anywhere.
    """
    from tacit.profile_sums.model import PrivateLists
    from tacit.recommenders import load_model

    # Whether each option that is only for a list for one person was typed.
    for_one_person = {
        "--history": history is not None,
        "--at-device": at_device,
        "--about": bool(about),
        "--exclude": bool(exclude),
        "--candidates": bool(candidates),
        "--cold": cold is not None,
        "--target": target is not None,
        "--memory": memory is not None,
        "--as-of": trial_time is not None,
        "--show-release": show_release,
        "--time": time is not None,
        "--delimiter": delimiter is not None,
    }
    # Whether each option that is only for the lists of all people was typed.
    for_all_people = {
        "--out": out is not None,
        "--into": into is not None,
        "--engine": engine != "local",
        "--remote": remote is not None,
        "--tasks": tasks is not None,
    }
    if all_ is not None:
        reason = "is for the list of one person: leave it out, or leave out --all"
        _refuse_typed(for_one_person, reason)
    else:
        _refuse_typed(for_all_people, "is for the lists of all people: add --all RATINGS")
    if not about:
        for_release = {flag: for_one_person[flag] for flag in ("--memory", "--as-of")}
        _refuse_typed(for_release, "is about what a device sends: add --about NAME=VALUE")
    fitted = load_model(model)
    execution = ExecutionOptions(engine=engine, remote=remote, tasks=tasks)
    if all_ is not None:
        from tacit.cli.all_lists import write_all_lists

        if out is not None and into is not None:
            raise ConfigError("Lists go to one place: give --out FILE or --into ADDRESS.")
        if into is None:
            out = out or name_output_beside(all_, ending="-lists.parquet", force=force)
        columns: dict[Role, str | None] = {"user": user, "item": item, "rating": rating}
        return write_all_lists(fitted, all_, into or str(out), execution, columns, n)
    _refuse_useless_options(for_one_person, model, fitted)
    hides_attribute = _is_a(fitted, STANDARD_SCHEME)
    list_model = fitted.sound_ if _is_a(fitted, XMAP) else fitted
    makes_private_lists = isinstance(list_model, PrivateLists)
    ratings, n_unknown = _read_history(
        history, fitted, item=item, rating=rating, delimiter=delimiter
    )
    list_arguments: dict[str, Any] = {
        "n": n,
        "exclude": _read_ids(exclude or [], fitted),
        "candidates": _read_ids(candidates, fitted) if candidates else None,
    }
    if target is not None:
        list_arguments["target"] = target
    if cold is not None:
        list_arguments["cold"] = read_cold_items(cold, delimiter)
    times = _read_times(history, fitted, item=item, time=time, delimiter=delimiter)
    origin: dict[str, Any] = {"computed": "here"}  # where and from what the list is made
    if about:
        if history is None:
            raise ConfigError("--about obfuscates a history: name one with --history FILE.")
        values = terminal.parse_name_values(about, "--about")
        memory_file = memory or history.with_name(history.name + ".released.json")
        recommendations, origin = _recommend_from_letter(
            fitted, ratings, values, memory_file, trial_time, list_arguments
        )
    elif at_device and not makes_private_lists:
        recommendations = fitted.recommend_at_device(ratings, **list_arguments)
        origin = {"computed": "at the device"}
    else:
        recommendations = fitted.recommend(history=ratings, **list_arguments, **times)
        if isinstance(list_model, PrivateLists):  # the file is released: a device may have it, too
            is_personal = list_model.released_.serves_personal_lists
            origin = {"computed": "at the device", "personal": is_personal}
    items = []
    for row in recommendations:
        explanation = _explain(fitted, row, ratings, times, by_reasons=makes_private_lists)
        items.append(_describe_row(row, fitted) | explanation)
    result = {
        "model": str(model),
        "rated": len(ratings),
        "unknown_items": n_unknown,
        "shown": None,
        "release": None,
        "personal": True,
        **origin,
        "hides": hides_attribute,
        "item_table": hides_attribute and fitted.item_table,
        "useful": usefulness(fitted),
        "items": items,
    }
    return Result(
        result,
        [*_describe_list(result, trial_time, show_release=show_release)],
        _suggest_command(result, fitted, show_release),
    )


def _is_a(model: Any, class_name: str) -> bool:
    """Say whether a model is of a class or a subclass of it, without importing the class.

    Args:
        model: The model.
        class_name: Name of the class after that of its module.
    """
    bases = type(model).__mro__
    return any(f"{base.__module__}.{base.__qualname__}" == class_name for base in bases)


def _describe_row(row: Recommendation, model: Any) -> dict[str, Any]:
    """Describe a row of a list in the values that --json prints, without its explanation."""
    return {
        "rank": row.rank,
        "item_id": row.item_id,
        "title": model.titles_.get(row.item_id),
        "score": row.score,
        "cold": row.cold,
    }


def _read_ids(texts: list[str], model: Any) -> list[Any]:
    """Read item ids as the model's own, which may be numbers. Unknown ids stay texts.

    Args:
        texts: Ids, or @FILE for the ids in a file.
        model: The model.
    """
    id_by_text = {str(key): key for key in model.item_ids_.tolist()}
    return [id_by_text.get(text, text) for text in terminal.parse_ids(texts)]


def _refuse_typed(options: Mapping[str, bool], reason: str) -> None:
    """Raise ConfigError if any of these options was typed; the error names the first one.

    Args:
        options: Whether each option was typed, by its flag.
        reason: The error's sentence after the flag, without the full stop.
    """
    for flag, is_typed in options.items():
        if is_typed:
            raise ConfigError(f"{flag} {reason}.")


def _refuse_useless_options(is_typed: Mapping[str, bool], model: Path, fitted: Any) -> None:
    """Refuse options that have no meaning for the model, or for another option that was typed.

    Args:
        is_typed: Whether each option for a list for one person was typed, by its flag.
        model: File of the model.
        fitted: The model.

    Raises:
        ConfigError: Such an option was typed.
    """
    from tacit.profile_sums.model import PrivateLists

    hides_attribute = _is_a(fitted, STANDARD_SCHEME)
    is_across_domains = _is_a(fitted, XMAP)
    list_model = fitted.sound_ if is_across_domains else fitted
    weighs_by_time = is_across_domains and fitted.weighs_by_time
    if is_typed["--about"] and not hides_attribute:
        _refuse_option("--about", model, "hides no attribute")
    has_item_table = hides_attribute or isinstance(list_model, PrivateLists)
    if is_typed["--at-device"] and not has_item_table:
        _refuse_option("--at-device", model, "has no item table")
    if is_typed["--cold"] and not isinstance(list_model, PrivateLists):
        _refuse_option("--cold", model, "scores no items by features")
    if is_typed["--target"] and not is_across_domains:
        _refuse_option("--target", model, "has no target domains")
    if is_typed["--time"] and not weighs_by_time:
        _refuse_option("--time", model, "was not fitted with --alpha")
    if is_typed["--at-device"] and is_typed["--about"]:
        raise ConfigError("--at-device releases nothing, so --about has no meaning beside it.")


def _refuse_option(option_name: str, model: Path, reason: str) -> NoReturn:
    """Raise ConfigError for an option that has no meaning for a model.

    Args:
        option_name: Flag of the option.
        model: File of the model.
        reason: What the model lacks, as the error's sentence says it after the file's name.
    """
    raise ConfigError(f"{model} {reason}, so {option_name} has no meaning here.")


def _recommend_from_letter(
    model: Any,
    ratings: dict[Any, float],
    values: dict[str, str],
    memory: Path,
    trial_time: datetime | None,
    list_arguments: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Make a list as a service makes it, from what the person's device releases.

    In the published variant, each call makes a new release and the list from it. In the sound
    variant, the list is made from the scores that answer the device's last letter; before the first
    letter it is the list of a person without ratings.

    Args:
        model: A standard scheme.
        ratings: The person's own stars by item.
        values: The person's value of each attribute that is hidden.
        memory: File of the device's memory.
        trial_time: A later time, in UTC, for a trial: after the letter that is due now, the list is
            made from the letter that would be sent at that time, and that letter is not stored.
            None: no trial.
        list_arguments: Arguments of the model's functions that make lists.

    Returns:
        The list, and the values of the result that say what it was made from and what was sent.

    Raises:
        ConfigError: The model is of the published variant, and a trial was asked for.
    """
    from tacit.cli.device import answer_letter
    from tacit.designs.standard_scheme.messages import Release

    def describe_release(release: Release) -> dict[str, Any]:
        text = release.encode().decode()
        return {"computed": "from the release", "shown": len(release.ratings), "release": text}

    if model.variant == "published":
        if trial_time is not None:
            raise ConfigError(
                "The published variant sends a new release at each call and none at a later time: "
                "leave out --as-of."
            )
        exchange = model.exchange(ratings, values, **list_arguments)
        return exchange.recommendations, describe_release(exchange.release)
    trial_time_utc = None if trial_time is None else trial_time.replace(tzinfo=UTC)
    letter_result, scores = answer_letter(model, ratings, values, memory, trial_time_utc)
    due = datetime.fromtimestamp(letter_result.due, UTC).isoformat()
    facts = {"due": due, "notice": letter_result.notice or None, "memory": str(memory)}
    if letter_result.letter is None or scores is None:
        excluded = [*list_arguments["exclude"], *ratings]
        popular_items = model.recommend(**(list_arguments | {"exclude": excluded}))
        return popular_items, facts | {"computed": "before the first letter"}
    release = Release.decode(letter_result.letter)
    return model.rank(scores, ratings, **list_arguments), describe_release(release) | facts


def _explain(
    model: Any,
    row: Recommendation,
    ratings: dict[Any, float],
    times: dict[str, Any],
    *,
    by_reasons: bool,
) -> dict[str, Any]:
    """Explain a recommendation, by reasons or by predicted stars, in values that --json prints.

    Args:
        model: The model.
        row: A row of the list.
        ratings: The person's own stars by item.
        times: Further arguments of the model's `predict`: `history_times`, the times of the
            person's ratings; or empty.
        by_reasons: Whether the model gives reasons; otherwise it predicts stars.

    Returns:
        For reasons: "because", the liked items that the recommendation follows from, and
        "features", the names of features that it follows from; MOST_REASONS of each at most. For
        predicted stars: "stars", on the model's scale. Empty for a model that has no `explain`, and
        for an item that no one rated.
    """
    if row.cold or not hasattr(model, "explain"):
        return {}
    item = row.item_id
    if not by_reasons:
        predicted = float(model.predict([item], history=ratings, **times)[0])
        return {"stars": min(max(predicted, model.scale_.minimum), model.scale_.maximum)}
    because = []
    features = []
    for reason in model.explain(item, history=ratings, n=MOST_REASONS):
        if reason.kind == "item":
            title = model.titles_.get(reason.name)
            because.append({"item_id": reason.name, "title": title, "score": reason.score})
        elif reason.kind == "feature":
            features.append(reason.name)
    return {"because": because, "features": features}


def _read_history(
    path: Path | None, model: Any, **columns: str | None
) -> tuple[dict[Any, float], int]:
    """Read the person's own ratings.

    Args:
        path: File of the ratings; None for a person without ratings.
        model: The model, whose item ids and scale are used.
        columns: The options `item`, `rating` and `delimiter`, as typed; None: not typed.

    Returns:
        Stars by item, and the number of items that the model does not know.

    Raises:
        DataError: The file cannot be read, or the model knows none of its items.
    """
    from tacit.data.columns import EVENTS
    from tacit.data.tabular import read_history

    if path is None:
        return {}, 0
    ids = getattr(model, "history_ids_", model.item_ids_)
    liked_from = getattr(model, "liked_from_", None)
    # A model of events needs no stars.
    events = getattr(model, "scale_", None) == EVENTS or liked_from == EVENTS.liked_from
    ratings = read_history(path, item_ids=ids, events=events, **columns)
    known = set(ids.tolist())
    unknown = [item for item in ratings if item not in known]
    if ratings and len(unknown) == len(ratings):
        raise DataError(
            "the model knows none of these items",
            path=path,
            found=unknown[0],
            expected=f"ids such as {ids.tolist()[0]!r}",
            fix="Name the id's column with --item, or use the history of the same catalogue.",
        )
    return ratings, len(unknown)


def _read_times(path: Path | None, model: Any, **columns: str | None) -> dict[str, Any]:
    """Read the times of the person's ratings, if the model weighs ratings by their time.

    Args:
        path: File of the ratings; None for a person without ratings.
        model: The model.
        columns: The options `item`, `time` and `delimiter`, as typed; None: not typed.

    Returns:
        The argument `history_times` of the model's `recommend`: Unix seconds by item, or None for a
        file without times. Empty for another model, and for a person without ratings.

    Raises:
        DataError: A time cannot be read.
    """
    if path is None or not _is_a(model, XMAP) or not model.weighs_by_time:
        return {}
    from tacit.data.tabular import read_history_times

    return {"history_times": read_history_times(path, item_ids=model.history_ids_, **columns)}


def _describe_list(
    result: dict[str, Any], trial_time: datetime | None, *, show_release: bool
) -> Iterator[Table | str]:
    """Yield the table of one person's list, and sentences on how it was made and what was sent.

    Args:
        result: The result as JSON.
        trial_time: Time in UTC of the trial that the list was made from; None: it was no trial.
        show_release: Whether the bytes of the letter are shown.
    """
    yield _make_list_table(result["items"])
    if result["useful"]:
        yield result["useful"]
    if not result["personal"]:
        yield "Everyone gets this list: the model was fitted to too few people for personal lists."
    if result["unknown_items"]:
        yield f"{result['unknown_items']} rated items are not in the model."
    if result.get("notice"):
        yield result["notice"]
    if result.get("memory"):
        if trial_time is not None:
            yield f"This is a trial of {trial_time} UTC: what was decided in it is not stored."
        until_now = "" if trial_time is None else " until now"
        yield (
            f"What this device decided{until_now} is stored in {result['memory']}, its secret in "
            f"{result['memory']}.account: keep both, and as private as the ratings."
        )
    n_ratings = f"{result['rated']} ratings"
    if result["computed"] == "before the first letter":
        yield (
            "This is the list of a person without ratings: this device has sent no letter yet. The "
            f"first one is due at {result['due']}, whatever is rated until then."
        )
    elif result["shown"] is None:
        yield f"Computed {result['computed']} from {n_ratings}; nothing was sent anywhere."
    else:
        yield f"Made from {result['shown']} obfuscated stars, out of {n_ratings}."
        if show_release:
            yield f"The letter, byte for byte:\n{result['release']}"


def _suggest_command(result: dict[str, Any], model: Any, show_release: bool) -> str:
    """Choose the command to suggest next, with what it does; "": none.

    Args:
        result: The result as JSON.
        model: The model.
        show_release: Whether the bytes of the letter were shown.
    """
    typed = terminal.command_line()
    card = f"tacit guarantee {shlex.quote(result['model'])}"
    if result["computed"] == "before the first letter":
        return f"{typed} --as-of {result['due'][:19]} --show-release  shows that letter now."
    if result["shown"] is not None and show_release:
        return f"{card}  shows what the release hides."
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


def _make_list_table(rows: list[dict[str, Any]]) -> Table:
    """Make the table of a list. The columns "title" and "rated by" are left out if empty."""
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
        columns["because you liked"] = _name_reasons
    return Table.from_rows("", columns, rows)


def _name_reasons(row: dict[str, Any]) -> str | None:
    """Name the liked items that explain a row; None where there are none."""
    names = [str(reason["title"] or reason["item_id"]) for reason in row.get("because", [])]
    return ", ".join(names) or None
