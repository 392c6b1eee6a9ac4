"""Options that the commands around sketches share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.synthetic_blocks import Blocks

Clusters = Annotated[int, typer.Option(min=2, help="How many item clusters there are.")]
Likes = Annotated[
    str | None,
    typer.Option(
        help="The assumed world: chances of a like by item cluster, one class of people after "
        "another, such as 0.9,0.2/0.3,0.8; all equally large. Left out, an example of the library."
    ),
]
Unit = Annotated[str, typer.Option(help="What epsilon is for: 'user', 'rating' or 'moved rating'.")]


def world(likes: str | None, clusters: int) -> Blocks:
    """Who likes what, from `--likes`."""
    import numpy as np

    from tacit.cli import numbers
    from tacit.data.synthetic_blocks import Blocks, example

    if likes is None:
        return example(clusters)
    # `numbers` drops repeated ones, which are no mistake here.
    rows = [
        [numbers.decimals(chance, "--likes")[0] for chance in row.split(",")]
        for row in likes.split("/")
    ]
    if any(len(row) != clusters for row in rows):
        raise ConfigError(
            f"--likes has a chance for each of {clusters} item clusters, in every class; got "
            f"{likes!r}. Name another number with --clusters."
        )
    people, items = np.full(len(rows), 1 / len(rows)), np.full(clusters, 1 / clusters)
    return Blocks(people, items, np.array(rows))
