"""What an answer's problem means: the list that each problem's `type` points into."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from tacit.service.access import Operation, allow
from tacit.service.keys import Role
from tacit.service.problems import ADDRESS, KINDS

router = APIRouter(route_class=Operation, tags=["health"])


class KindBody(BaseModel):
    """One kind of problem."""

    type: str
    status: int
    title: str
    do: str


class Kinds(BaseModel):
    """All of them."""

    problems: list[KindBody]


@router.get(ADDRESS, **allow(Role.ANONYMOUS))
async def problems() -> Kinds:
    """Every kind of problem an answer may name, and what to do about it."""
    return Kinds(
        problems=[
            KindBody(type=f"{ADDRESS}#{one.name}", status=one.status, title=one.title, do=one.do)
            for one in KINDS
        ]
    )
