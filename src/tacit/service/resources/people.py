"""People: their keys, the ratings they gave, and how they are forgotten."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from tacit.ledger import canonical
from tacit.randomness import Source
from tacit.service.access import Asking, Here, IdempotencyKey, Name, Operation, allow, named, own
from tacit.service.idempotency import Kept, Reply, Step, refusal, reply, step
from tacit.service.keys import Role
from tacit.service.models import MOST, Feedback, ServedModel, feedback_state, forget_feedback
from tacit.service.problems import Problem
from tacit.service.resources.models import PATTERN, ItemId, Stars, check_ratings
from tacit.service.resources.privacy import Bound, bounds_of

router = APIRouter(route_class=Operation, tags=["people"])

VISITOR = "visitor-"  # how the names of people begin who asked for a key themselves


class Person(BaseModel, extra="forbid", strict=True):
    name: Annotated[
        str,
        Field(
            pattern=PATTERN,
            description="A pseudonym: it stands in logs. Names that begin with 'visitor-' are "
            "those of visitors, and are refused.",
            json_schema_extra={"not": {"pattern": f"^{VISITOR}"}},
        ),
    ]


class PersonKey(BaseModel):
    """key: for  Authorization: Bearer KEY. The same for one name, as long as the service's secret
    is; it is kept nowhere."""

    name: str
    key: str


class Visitor(BaseModel, extra="forbid", strict=True):
    token: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_-]{43,128}$",
            description="At least 32 random bytes in base64url, made and kept by the sender.",
        ),
    ]


@router.post("/api/people", **allow(Role.OPERATOR))
def person(service: Here, person: Person) -> PersonKey:
    """The key of a person. It changes nothing: a key is made from the name and a secret."""
    if person.name.startswith(VISITOR):
        raise Problem(422, f"Names that begin with {VISITOR} are those of visitors.")
    return PersonKey(name=person.name, key=service.keys.person_key(person.name))


@router.post("/api/visitors", **allow(Role.ANONYMOUS))
def visitor(service: Here, request: Request, visitor: Visitor) -> PersonKey:
    """A name and a key for a visitor: the same for the same token."""
    if not service.settings.visitors:
        raise Problem(404, "There is nothing at this address.")
    name = VISITOR + service.keys.digest("visitor", visitor.token.encode()).hex()[:40]
    service.newcomers.admit(request.client.host if request.client else "", name)
    return PersonKey(name=name, key=service.keys.person_key(name))


feedback_router = APIRouter(route_class=Operation, tags=["feedback"])


class Rating(BaseModel, extra="forbid", strict=True):
    """stars: null takes a rating back."""

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


@feedback_router.post("/api/feedback", response_model=Done, **allow(Role.SUBJECT))
async def rate(service: Here, caller: Asking, key: IdempotencyKey, rating: Rating) -> Response:
    """Keep one rating of one's own, change it, or take it back."""
    served = named(service, ServedModel, rating.model)
    if rating.stars is not None:
        check_ratings(served, {rating.item: rating.stars})

    def take(source: Source, state: bytes | None) -> tuple[Reply, bytes | None]:
        before = Feedback.decode(state)
        if rating.stars is None:
            after: Feedback | None = before.taken_back(rating.model, rating.item)
        else:
            after = before.rated(rating.model, rating.item, rating.stars)
        if after is None:
            full = f"At most {MOST} ratings of one person are kept. Take one back first."
            return refusal(409, full), None
        return reply({"done": True}), after.encode(source)

    asked = (service, caller, "feedback", key, canonical(rating.model_dump()))
    return await step(*asked, state=feedback_state(caller.name), take=take)


@feedback_router.get("/api/feedback", **allow(Role.SUBJECT))
def kept(service: Here, caller: Asking) -> KeptRatings:
    """Everything that the service keeps of what one rated."""
    models = service.deployment.all(ServedModel)
    return KeptRatings(
        ratings=[
            KeptRating(
                model=model,
                item_id=item,
                title=models[model].title(item) if model in models else None,
                stars=stars,
            )
            for model, ratings in sorted(Feedback.of_user(service, caller.name).of.items())
            for item, stars in sorted(ratings.items())
        ],
        most=MOST,
    )


@feedback_router.delete("/api/feedback", name="forget", response_model=Done, **allow(Role.SUBJECT))
async def forget_ratings(service: Here, caller: Asking, key: IdempotencyKey) -> Response:
    """Forget all ratings that one gave; `DELETE /api/users/{user}` forgets everything else too."""
    ratings = forget_feedback(caller.name)
    asked = (service, caller, "forget feedback", key, b"all")
    return await step(*asked, state=ratings.state, take=_without(ratings))


users_router = APIRouter(route_class=Operation, tags=["users"])

OPERATION = "forget a person"

STAYS = (
    (
        "your pseudonym, in the log of what was spent, because budgets are for life: with the name "
        "of each operation, its cost and SHA-256 hashes, and nothing that you said"
    ),
    "answers that were stored, so that a request that is repeated is answered with the same bytes",
    "what was spent of budgets: nothing is ever refunded",
)
COPIES = (
    "copies of the database that its operator made before now, and pages of its file that were not "
    "written over yet: they hold what was kept until they remove them"
)


class Receipt(BaseModel):
    """The same whether there was anything of theirs or not, so that it may be kept for ever."""

    user: str
    gone: list[str]
    cannot_be_recalled: list[str]
    bounded_by: list[Bound]
    kept: list[str]


@users_router.delete(
    "/api/users/{user}", response_model=Receipt, **allow(Role.SUBJECT, Role.OPERATOR)
)
async def forget(service: Here, caller: Asking, user: Name, key: IdempotencyKey) -> Response:
    """Forget a person: everything of theirs that is kept. Their key still works, and finds nothing.

    Every part is taken out in a transaction of its own. If one fails, the same request again goes
    on where it stopped; the receipt comes last.
    """
    own(caller, user)
    asked = service, caller
    payload = canonical({"user": user})
    # First of all: a key that was used for another person is refused before anything is gone.
    begun = f"{OPERATION}: begun"
    await step(*asked, begun, key, payload, take=lambda *_: (reply({}), None), apart=True)
    served = service.deployment.served.values()
    keeping = [thing for thing in served if hasattr(thing, "forget")]
    parts = [forget_feedback(user), *(part for one in keeping for part in one.forget(user))]
    for part in parts:  # once for this key: a late retry must not take out what they gave since
        which = hashlib.sha256(part.state.encode()).hexdigest()[:16]
        await step(
            *(*asked, f"{OPERATION}: {which}", key),
            canonical({"user": user, "state": part.state}),
            state=part.state,
            take=_without(part),
            apart=True,
        )
    gone = [str(thing.released()) for thing in served if hasattr(thing, "released")]
    receipt = Receipt(
        user=user,
        gone=list(dict.fromkeys(part.what for part in parts)),
        cannot_be_recalled=[*gone, COPIES],
        bounded_by=list(bounds_of(service.deployment)),
        kept=list(STAYS),
    )
    answer = reply(receipt.model_dump()), None
    return await step(*asked, OPERATION, key, payload, take=lambda *_: answer, apart=True)


def _without(part: Kept) -> Step:
    return lambda source, state: (reply({"done": True}), part.without(source, state))
