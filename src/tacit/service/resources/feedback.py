"""Ratings that a person gives to the service, and takes back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from tacit.ledger import canonical
from tacit.randomness import Source
from tacit.service.access import Asking, Here, IdempotencyKey, Operation, allow
from tacit.service.feedback import MOST, Feedback, feedback_state, forget_feedback
from tacit.service.idempotency import Reply, refusal, reply, step
from tacit.service.keys import Role
from tacit.service.models import ServedModel
from tacit.service.resources.models import PATTERN, model_of
from tacit.service.resources.recommendations import ItemId, Stars, check_ratings

router = APIRouter(route_class=Operation, tags=["feedback"])


class Rating(BaseModel):
    """stars: null takes a rating back."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, Field(pattern=PATTERN)]
    item: ItemId
    stars: Stars | None


class Done(BaseModel):
    """The same whatever was kept before: answers are stored, and forgetting must reach all."""

    done: bool


class KeptRating(BaseModel):
    """title: null where the item has none, or is not served any more."""

    model: str
    item_id: str
    title: str | None
    stars: float


class KeptRatings(BaseModel):
    """most: how many ratings of one person are kept."""

    ratings: list[KeptRating]
    most: int


@router.post("/api/feedback", response_model=Done, **allow(Role.SUBJECT))
def rate(service: Here, caller: Asking, key: IdempotencyKey, rating: Rating) -> Response:
    """Keep one rating of one's own, change it, or take it back."""
    served = model_of(service, rating.model)
    if rating.stars is not None:
        check_ratings(served, {rating.item: rating.stars})

    def take(source: Source, state: bytes | None) -> tuple[Reply, bytes | None]:
        before = Feedback.decode(state)
        if rating.stars is None:
            after: Feedback | None = before.taken_back(rating.model, rating.item)
        else:
            after = before.rated(rating.model, rating.item, rating.stars)
        if after is None:
            return _full(), None
        return reply({"done": True}), after.encode(source)

    return step(
        service,
        caller,
        "feedback",
        key,
        canonical(rating.model_dump()),
        state=feedback_state(caller.name),
        take=take,
    )


@router.get("/api/feedback", **allow(Role.SUBJECT))
def kept(service: Here, caller: Asking) -> KeptRatings:
    """Everything that the service keeps of what one rated."""
    models = service.deployment.all(ServedModel)
    state = service.ledger.state(f"{caller.tenant}/{feedback_state(caller.name)}")
    return KeptRatings(
        ratings=[
            KeptRating(
                model=model,
                item_id=item,
                title=models[model].title(item) if model in models else None,
                stars=stars,
            )
            for model, ratings in sorted(Feedback.decode(state).of.items())
            for item, stars in sorted(ratings.items())
        ],
        most=MOST,
    )


@router.delete("/api/feedback", response_model=Done, **allow(Role.SUBJECT))
def forget(service: Here, caller: Asking, key: IdempotencyKey) -> Response:
    """Forget all ratings that one gave; `DELETE /api/users/{user}` forgets everything else too."""
    kept = forget_feedback(caller.name)
    return step(
        service,
        caller,
        "forget feedback",
        key,
        b"all",
        state=kept.state,
        take=lambda source, state: (reply({"done": True}), kept.without(source, state)),
    )


def _full() -> Reply:
    return refusal(409, f"At most {MOST} ratings of one person are kept. Take one back first.")
