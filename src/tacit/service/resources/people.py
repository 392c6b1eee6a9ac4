"""The keys of people and of visitors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from tacit.service.access import NOT_FOUND, CurrentService, allow
from tacit.service.keys import CUSTOMER_PREFIX, LONGEST_CUSTOMER_ID, Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.schemas import AnswerModel, RequestModel
from tacit.service.strict_json import PRINTABLE

router = APIRouter(route_class=Operation, tags=["people"])

VISITOR_PREFIX = "visitor-"
"""First characters of the name of a visitor: a person who gets a key without the operator."""
_NAME_DIGITS = 40
"""Hexadecimal digits of a visitor's name: 160 bits, so that no two visitors get the same name."""


class Person(RequestModel):
    """The person whose key is asked for."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_CUSTOMER_ID,
            pattern=PRINTABLE,
            description="A pseudonym of a-z, 0-9, _ and -, which stands in logs; or any other id, "
            "such as an e-mail address, of which the service makes a pseudonym. Names that begin "
            "with 'visitor-' or 'customer-' are refused.",
            json_schema_extra={"not": {"pattern": f"^({VISITOR_PREFIX}|{CUSTOMER_PREFIX})"}},
        ),
    ]


class PersonKey(AnswerModel):
    """A person's key."""

    name: str
    """The person's name in logs and in the ledger."""
    key: str
    """For the header  Authorization: Bearer KEY. It stays the same for one name, as long as the
    service's secret does, and is stored nowhere."""


class Visitor(RequestModel):
    """A visitor, who asks for a key of their own."""

    token: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_-]{43,128}$",
            description="At least 32 random bytes in base64url, made and kept by the sender.",
        ),
    ]


@router.post("/api/people", **allow(Role.OPERATOR))
def person(service: CurrentService, person: Person) -> PersonKey:
    """Make the key of a person. Nothing is stored: a key is computed from the name and a secret."""
    if person.name.startswith((VISITOR_PREFIX, CUSTOMER_PREFIX)):
        raise Problem(
            422, f"Names that begin with {VISITOR_PREFIX} or {CUSTOMER_PREFIX} are the service's."
        )
    name = service.keys.person_name(person.name)
    return PersonKey(name=name, key=service.keys.person_key(name))


@router.post("/api/visitors", **allow(Role.ANONYMOUS))
def visitor(service: CurrentService, request: Request, visitor: Visitor) -> PersonKey:
    """Make a name and a key for a visitor, which stay the same for one token."""
    if not service.settings.visitors:
        raise Problem(404, NOT_FOUND)
    digest = service.keys.digest("visitor", visitor.token.encode()).hex()
    name = VISITOR_PREFIX + digest[:_NAME_DIGITS]
    address = request.client.host if request.client else ""
    service.visitors.admit(address, name)
    return PersonKey(name=name, key=service.keys.person_key(name))
