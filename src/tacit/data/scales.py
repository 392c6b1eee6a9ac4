"""Scales of ratings: which stars there are, which of them are a like, and events without stars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

LIKED = 0.7
"""Of the span of a scale: from here on a rating is a like."""


@dataclass(frozen=True, slots=True)
class RatingScale:
    """The stars a rating can take: minimum, minimum + step, ..., maximum; step 0: any between."""

    minimum: float
    maximum: float
    step: float

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):  # 1 and 1.0 must be written alike
            object.__setattr__(self, name, float(getattr(self, name)))
        if not (np.isfinite([self.minimum, self.maximum, self.step]).all() and self.step >= 0):
            raise DataError("a rating scale needs three finite numbers and a step of 0 or more")
        if self.minimum >= self.maximum:
            raise DataError("a rating scale's minimum lies below its maximum", found=str(self))
        if self.step and not np.isclose(self.span / self.step, round(self.span / self.step)):
            raise DataError("a rating scale is a whole number of steps long", found=str(self))

    @classmethod
    def parse(cls, text: str) -> RatingScale:
        """`"1:5:1"` is one to five stars; `"0:10:0"` any number from 0 to 10."""
        try:
            minimum, maximum, step = (float(part) for part in text.split(":"))
        except ValueError:
            raise DataError(
                "a rating scale is written MIN:MAX:STEP", found=text, expected="for example 1:5:1"
            ) from None
        return cls(minimum, maximum, step)

    @classmethod
    def detect(cls, values: NDArray[np.float64]) -> RatingScale:
        """The first of the common public scales that holds every value.

        The choice looks at the ratings, so a formal guarantee needs the scale to be given instead.
        """
        scale, odd = cls.nearest(values)
        if odd:
            held = scale.holds(values)
            raise cls.unfit(scale, row=int(np.argmin(held)) + 1 if held.any() else None)
        return scale

    @classmethod
    def nearest(cls, values: NDArray[np.float64]) -> tuple[RatingScale, int]:
        """The first of the common scales that holds most values, and how many are off it."""
        held = {scale: int(scale.holds(values).sum()) for scale in COMMON_SCALES}
        most = max(held, key=held.__getitem__)
        return most, len(values) - held[most]

    @staticmethod
    def unfit(
        scale: RatingScale, *, row: int | None, path: object = None, column: str | None = None
    ) -> DataError:
        """What to say where no common scale holds all ratings.

        row: the first off the nearest, None where all are.
        """
        return DataError(
            "the ratings fit none of the common scales",
            path=path,
            row=row,
            column=column,
            expected=("" if row is None else f"a rating on {scale} as most of the others, or ")
            + "all of them on one of "
            + ", ".join(map(str, COMMON_SCALES)),
            fix="Correct the row, or give the scale with --scale MIN:MAX:STEP, for example 1:7:1 "
            "(from Python: scale=RatingScale(1, 7, 1)); a step of 0 allows anything between.",
        )

    @property
    def span(self) -> float:
        return self.maximum - self.minimum

    @property
    def liked_from(self) -> float:
        """The fewest stars that are a like: 0.7 of the way up, so 4 of 1 to 5; public."""
        return self.minimum + LIKED * self.span

    @property
    def discrete(self) -> bool:
        return self.step > 0

    @property
    def levels(self) -> int:
        """How many different stars there are (0 on a continuous scale)."""
        return round(self.span / self.step) + 1 if self.step else 0

    def holds(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which values lie on the scale."""
        inside = np.isfinite(values) & (values >= self.minimum) & (values <= self.maximum)
        if not self.step:
            return inside
        steps = (np.where(inside, values, self.minimum) - self.minimum) / self.step
        on: NDArray[np.bool_] = inside & (np.abs(steps - np.round(steps)) < 1e-6)
        return on

    def to_levels(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Stars to 0, 1, ..., levels - 1; a value off the scale is an error."""
        if not self.discrete:
            raise DataError("a continuous scale has no levels", found=str(self))
        if not self.holds(values).all():
            raise DataError("a rating lies off the scale", expected=str(self))
        return np.round((values - self.minimum) / self.step).astype(np.int64)

    def __str__(self) -> str:
        return f"{self.minimum:g}:{self.maximum:g}:{self.step:g}"


COMMON_SCALES = (
    RatingScale(1, 5, 1),
    RatingScale(0.5, 5, 0.5),
    RatingScale(0, 5, 0.5),
    RatingScale(1, 10, 1),
    RatingScale(0, 10, 0.5),
    RatingScale(0, 100, 1),
)

EVENTS = RatingScale(0, 1, 1)
"""Of events without stars, such as purchases: each is a 1, which is a like. A 0 is an event that
counts as seen and not as liked."""
