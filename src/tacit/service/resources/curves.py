"""What privacy costs, as it was measured when the deployment was made."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from tacit.service.access import Here, Operation, allow
from tacit.service.keys import Role
from tacit.service.models import Curve, ServedModel

router = APIRouter(route_class=Operation, tags=["curves"])


class ModelCurve(BaseModel):
    """model: which served model it is about."""

    model: str
    curve: Curve


class Curves(BaseModel):
    curves: list[ModelCurve]


@router.get("/api/curves", **allow(Role.OPERATOR, Role.ANALYST))
def curves(service: Here) -> Curves:
    """Curves of accuracy over epsilon. Nothing is computed when they are asked for."""
    return Curves(
        curves=[
            ModelCurve(model=name, curve=curve)
            for name, served in service.deployment.all(ServedModel).items()
            for curve in served.curves
        ]
    )
