"""Curves of what privacy costs: measured when the deployment was made, and only shown here.

Computing them on request would be a release for everybody who asks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from tacit.errors import ConfigError
from tacit.service import strict_json

MOST_CURVES, MOST_POINTS, MOST_BYTES = 50, 200, 1 << 20
Text = Annotated[str, Field(min_length=1, max_length=500)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Point(BaseModel):
    """A measured value and its interval, in the curve's unit, at one epsilon in nats."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    value: Finite
    low: Finite
    high: Finite

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError("a value lies within its interval")
        return self


class Curve(BaseModel):
    """x, y: what the axes show. non_private: the value at epsilon inf. made_with: how it was
    measured, so that it can be repeated."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    title: Text
    x: Text
    y: Text
    unit: Text
    points: Annotated[list[Point], Field(min_length=1, max_length=MOST_POINTS)]
    non_private: Finite
    made_with: Text

    @model_validator(mode="after")
    def _rises(self) -> Self:
        epsilons = [point.epsilon for point in self.points]
        if sorted(set(epsilons)) != epsilons:
            raise ValueError("epsilons rise from point to point")
        return self


_CURVES = TypeAdapter(Annotated[list[Curve], Field(max_length=MOST_CURVES)])


def read_curves(path: Path) -> tuple[Curve, ...]:
    """The curves of a JSON file, a list; ConfigError says where it is wrong."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{path}: is too large for a file of curves.")
        return tuple(_CURVES.validate_python(strict_json.parse(path.read_bytes())))
    except strict_json.Refused as refused:
        raise ConfigError(f"{path}: is not read: {refused}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the list"
        raise ConfigError(f"{path}: {place} does not fit: {first['msg']}.") from None
