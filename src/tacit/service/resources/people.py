"""Keys for people: from the operator, or, where visitors are welcome, on request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from tacit.service.access import Here, Operation, allow
from tacit.service.keys import Role
from tacit.service.problems import Problem
from tacit.service.resources.models import PATTERN

router = APIRouter(route_class=Operation, tags=["people"])

VISITOR = "visitor-"
"""How the names of people begin who asked for a key themselves."""


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

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


class Visitor(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

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
