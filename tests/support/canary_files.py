"""Files in which every cell of a person is a word or a number that stands nowhere else."""

from __future__ import annotations

import json
import random
import re
from dataclasses import MISSING
from pathlib import Path

import numpy as np

from tacit import container, design
from tacit.design import Command
from tacit.design.options import options_of
from tacit.errors import TacitError

PEOPLE, ITEMS = 60, 24
FIRST_SECOND = 1_337_200_000
CANARY = re.compile(rb"canary|(?<!\d)13372\d{5}(?:\d{3}|\d{6})?(?!\d)")
"""A word of a row, or its moment in seconds, thousandths or millionths as a number of its own: the
digits also occur by chance within a keyed hash of 64 bits."""
COLUMNS = ("title", "name", "description", "review", "comment", "price_note")
ANSWERS = {
    "epsilon": "2",
    "delta": "1e-5",
    "from_domain": "books",
    "to_domain": "films",
    "attribute": "gender",
    "service_sees_items": "no",
    "voters": "60",
    "rated": "10",
}
"""Values of options that commands need, by name."""
ALWAYS = {"epsilon", "delta", "service_sees_items", "rated"}
"""Options that are typed where a command has them."""
FLAGS_OF_RATINGS = {
    "private": [],
    "standard-scheme": ["--users", "users.csv"],
    "xmap": ["--domain-column", "domain", "--items", "items.csv"],
    "sketches": [],
}


def write_inputs(folder: Path) -> None:
    """Write an input of each kind, with a word or a number of its own in every cell of a person."""
    generator = random.Random(5)  # noqa: S311
    ratings = ["user_id,item_id,rating,timestamp," + ",".join(COLUMNS)]
    row = 0
    for person in range(PEOPLE):
        for item in generator.sample(range(ITEMS), 10):
            words = ",".join(f"canary-{column}-{row}" for column in COLUMNS)
            moment = FIRST_SECOND + row
            stars = generator.choice([1, 2, 3, 4, 5, 5])
            ratings.append(f"canary-person-{person},item-{item},{stars},{moment},{words}")
            row += 1
    users = ["user_id,gender,street"]
    users += [f"canary-person-{n},{'FM'[n % 2]},canary-street-{n}" for n in range(PEOPLE)]
    items = ["item_id,title,genres,domain"]
    for item in range(ITEMS):
        domain = "books" if item % 2 else "films"
        items.append(f"item-{item},catalogue title {item},genre-{item % 3},{domain}")
    votes = ["round,voter,candidate,note"]
    for number in range(3):
        for voter in range(60):
            candidate = f"candidate-{generator.randrange(4)}"
            votes.append(f"{number},canary-voter-{voter},{candidate},canary-note-{voter}")
    likes = ["client,round,candidate,note"]
    likes += [f"ann,{number},candidate-1,canary-note" for number in range(3)]
    log = ["age,article,click,note"]
    for visit in range(80):
        clicked = generator.randrange(2)
        log.append(
            f"0.13372{visit:05d},article-{generator.randrange(3)},{clicked},canary-note-{visit}"
        )
    files = {
        "ratings.csv": ratings,
        "users.csv": users,
        "items.csv": items,
        "votes.csv": votes,
        "likes.csv": likes,
        "log.csv": log,
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")


def words_of(name: str, part: str) -> list[str]:
    """Write a command with all that it needs."""
    command: Command = design.design(name).part(part)
    words = [part, name]
    if command.ratings:
        words += ["ratings.csv", *FLAGS_OF_RATINGS[name]]
    for option, field in options_of(command.settings).items():
        flag = field.metadata["flag"].split()[-1] if field.metadata["flag"] else ""
        flag = flag or "--" + option.replace("_", "-")
        if option == "votes":
            words.append("votes.csv")
        elif option == "log":
            words += ["log.csv", "--contexts", "age"]
        elif option == "likes":
            words += ["--likes", "likes.csv"]
        elif option == "catalogue":
            words += ["--catalogue", "items.csv"]
        elif option == "report":
            words += ["--report", "report.html"]
        elif field.metadata["writes"]:
            words += [flag, f"{option}.tacit"]
        elif field.default is MISSING or option in ALWAYS:
            words += [flag, ANSWERS[option]]
    return words


def unpacked(path: Path) -> list[bytes]:
    """Read a file as it is, and what a model or device file holds."""
    contents = [path.read_bytes()]
    try:
        header, arrays = container.read(path)
    except TacitError:
        return contents
    contents.append(json.dumps(header).encode())
    for array in arrays.values():
        whole = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        contents.append(" ".join(map(str, whole.ravel().tolist())).encode())
    return contents


def assert_no_canary(contents: list[bytes]) -> None:
    """Search all contents."""
    assert sum(map(len, contents)) > 100
    for content in contents:
        found = CANARY.search(content)
        assert found is None, content[max(0, found.start() - 80) : found.end() + 40]
