"""HTTP resources of a vendor's articles, which are added and removed without a restart.

Adding    an article can be shown from the next epoch on, like every arm that joins, or at once if
          this epoch has no visit yet.
Removal   an article is not shown any more once it is removed. Articles that `tacit.toml` names
          cannot be removed here.
Age       an article that was added here is removed `article_days` (a setting) later.
Public    which articles there are, and when they join and leave, must depend on editors and the
          clock only, never on what visitors did: the card assumes it.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response
from pydantic import Field

from tacit.designs.pdap.messages import MOST_VIDEO_BYTES
from tacit.designs.pdap.serve.state import MOST_VIDEOS, VendorState
from tacit.designs.pdap.serve.visits import Body, Name, find_vendor
from tacit.errors import ConfigError
from tacit.service.access import CurrentCaller, CurrentService, IdempotencyKey, allow
from tacit.service.idempotency import Reply, read_salted_state, refusal, reply
from tacit.service.keys import Role
from tacit.service.operations import Operation
from tacit.service.strict_json import PRINTABLE

ARTICLES = "/api/vendors/articles"

router = APIRouter(route_class=Operation, prefix="/api/vendors", tags=["vendors"])
Title = Annotated[str, Field(min_length=1, max_length=MOST_VIDEO_BYTES // 4, pattern=PRINTABLE)]
"""Title of an article, its name as a video. A character has at most 4 bytes in UTF-8, so the title
fits into a message."""
ArticlePath = Annotated[
    str, Path(min_length=1, max_length=MOST_VIDEO_BYTES // 4, pattern=PRINTABLE)
]


class NewArticles(Body):
    """Titles of articles to add."""

    articles: Annotated[list[Title], Field(min_length=1, max_length=MOST_VIDEOS)]


class Article(Body):
    """One article."""

    name: str
    """Title of the article."""
    joined: int | None
    """Seconds since 1970; null for one that `tacit.toml` names, which stays."""


class Articles(Body):
    """All own articles of a vendor."""

    articles: list[Article]


class JoinReceipt(Body):
    """Answer to new articles."""

    joined: list[str]
    """Names that are new; they can be shown from the next epoch on."""


class RemovalReceipt(Body):
    """Answer to a removal."""

    removed: Literal[True]
    """The article is not shown any more."""


@router.get("/{name}/articles", response_model=Articles, **allow(Role.EDITOR, Role.OPERATOR))
def articles(name: Name, service: CurrentService, caller: CurrentCaller) -> dict[str, Any]:
    """List the articles that a vendor shows, and when each joined."""
    vendor = find_vendor(service, caller, name)
    stored = read_salted_state(service, vendor.state_name)
    joined_by_title = vendor.find_joining_times(stored, time.time())
    rows = [{"name": title, "joined": joined} for title, joined in joined_by_title.items()]
    return {"articles": rows}


@router.post("/{name}/articles", response_model=JoinReceipt, **allow(Role.EDITOR, Role.OPERATOR))
async def add_articles(
    name: Name,
    body: NewArticles,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """Add articles, which can be shown from the next epoch on."""
    vendor = find_vendor(service, caller, name)

    def add(state: VendorState) -> Reply:
        try:
            return reply({"joined": list(state.add_articles(body.articles, time.time()))})
        except ConfigError as error:
            return refusal(409, str(error))

    payload = json.dumps(body.articles).encode()
    return await vendor.run_transaction(service, caller, f"POST {ARTICLES}", key, payload, add)


@router.delete(
    "/{name}/articles/{article:path}",
    response_model=RemovalReceipt,
    **allow(Role.EDITOR, Role.OPERATOR),
)
async def remove_article(
    name: Name,
    article: ArticlePath,
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,
) -> Response:
    """Remove an article at once. One that `tacit.toml` names has to be removed there."""
    vendor = find_vendor(service, caller, name)

    def remove(state: VendorState) -> Reply:
        if article in vendor.settings.videos:
            return refusal(409, "tacit.toml names this article: remove it there, and restart.")
        if not state.remove_article(article):
            return refusal(404, "There is nothing at this address.")
        return reply({"removed": True})

    return await vendor.run_transaction(
        service, caller, f"DELETE {ARTICLES}", key, article.encode(), remove
    )
