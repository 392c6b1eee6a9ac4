"""The ratings that a person stores here, to change, read and delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from tacit.ledger import canonical
from tacit.randomness import Source
from tacit.service.access import (
    NAME_PATTERN,
    CurrentCaller,
    CurrentService,
    IdempotencyKey,
    allow,
    find_served,
)
from tacit.service.idempotency import Reply, Transition, answer_once, refusal, reply
from tacit.service.keys import Role
from tacit.service.list_requests import ItemId, Stars, check_stars
from tacit.service.operations import Operation
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.served_models import ServedModel
from tacit.service.served_things import PersonalState
from tacit.service.stored_ratings import (
    MOST_RATINGS,
    StoredRatings,
    all_ratings_state,
    ratings_state_name,
)

router = APIRouter(route_class=Operation, tags=["feedback"])


class Rating(RequestModel):
    """One rating."""

    model: Annotated[str, Field(pattern=NAME_PATTERN)]
    item: ItemId
    stars: Stars | None
    """Null takes a rating back."""


class Done(AnswerModel):
    """A confirmation. It depends on no rating, because it is stored for longer than ratings."""

    done: bool


class KeptRating(AnswerModel):
    """One stored rating."""

    model: str
    item_id: str
    title: str | None
    """Null if the item has no title, or the model is not served any more."""
    stars: float


class KeptRatings(AnswerModel):
    """All stored ratings of a person."""

    ratings: list[KeptRating]
    most: int
    """The most ratings that one person may store."""


@router.post("/api/feedback", response_model=Done, **allow(Role.SUBJECT))
async def rate(
    service: CurrentService, caller: CurrentCaller, key: IdempotencyKey, rating: Rating
) -> Response:
    """Store, change or take back one rating of the caller."""
    served = find_served(service, ServedModel, rating.model)
    if rating.stars is not None:
        check_stars(served, {rating.item: rating.stars})

    def store_rating(source: Source, state: bytes | None) -> tuple[Reply, bytes | None]:
        """Store, change or remove the rating; refuse it if the caller would have too many."""
        old_ratings = StoredRatings.decode(state)
        new_ratings: StoredRatings | None
        if rating.stars is None:
            new_ratings = old_ratings.without_rating(rating.model, rating.item)
        else:
            new_ratings = old_ratings.with_rating(rating.model, rating.item, rating.stars)
        if new_ratings is None:
            detail = (
                f"At most {MOST_RATINGS} ratings of one person are stored. Take one back first."
            )
            return refusal(409, detail), None
        return reply({"done": True}), new_ratings.encode(source)

    return await answer_once(
        service,
        caller,
        "feedback",
        key,
        canonical(rating.model_dump()),
        state=ratings_state_name(caller.name),
        transition=store_rating,
    )


@router.get("/api/feedback", name="kept", **allow(Role.SUBJECT))
def stored_ratings(service: CurrentService, caller: CurrentCaller) -> KeptRatings:
    """List all ratings of the caller that the service stores."""
    models = service.deployment.find_all(ServedModel)
    by_model = StoredRatings.read(service, caller.name).by_model
    rows = []
    for name, ratings in sorted(by_model.items()):
        served = models.get(name)
        for item, stars in sorted(ratings.items()):
            title = None if served is None else served.title(item)
            rows.append(KeptRating(model=name, item_id=item, title=title, stars=stars))
    return KeptRatings(ratings=rows, most=MOST_RATINGS)


@router.delete("/api/feedback", name="forget", response_model=Done, **allow(Role.SUBJECT))
async def forget_ratings(
    service: CurrentService, caller: CurrentCaller, key: IdempotencyKey
) -> Response:
    """Forget all ratings of the caller; `DELETE /api/users/{user}` forgets everything else, too."""
    ratings = all_ratings_state(caller.name)
    return await answer_once(
        service,
        caller,
        "forget feedback",
        key,
        b"all",
        state=ratings.state_name,
        transition=erase_state(ratings),
    )


def erase_state(personal_state: PersonalState) -> Transition:
    """Make the transition that erases a person from one state, and answers that it is done."""

    def erase(source: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        return reply({"done": True}), personal_state.erase(source, stored)

    return erase
