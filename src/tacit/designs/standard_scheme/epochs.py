"""Epochs of an account, and the moments at which its device speaks.

An account's first epochs end 30 minutes and 24 hours after its creation; a device speaks as soon as
they have ended. From then on the calendar counts: epoch k ends where k + 1 starts, and the device
speaks at a moment of the day after that. Nothing else makes a device speak: no rating, no count of
ratings, no button. Times are whole seconds UTC.

Labels   0 and 1 for the first two epochs, afterwards the calendar's number k, which is above 1 at
         any time after January 1970. The TypeScript client speaks by the same rules.

Standard library only.
"""

from __future__ import annotations

from tacit.designs.standard_scheme.dice import random_word, root_of
from tacit.designs.standard_scheme.messages import DAY

FIRST_END = 1_800
"""Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY."""
LAST_EPOCH_OF_FIRST_DAY = 1
"""Label of the epoch that ends a DAY after the creation of an account."""
_MONDAY = 345_600
"""1970-01-05, 00:00 UTC."""


def calendar_epoch(time: int, length: int) -> int:
    """Return the number of the calendar epoch that this second lies in."""
    return (time - _MONDAY) // length


def epoch_start(epoch: int, length: int) -> int:
    """Return the first second of a calendar epoch."""
    return _MONDAY + epoch * length


def epoch_end(epoch: int, created: int, length: int) -> int:
    """Return the first second after the epoch with this label."""
    if epoch < 2:
        return created + (DAY if epoch else FIRST_END)
    return epoch_start(epoch + 1, length)


def latest_ended_epoch(created: int, now: int, length: int) -> int | None:
    """Return the label of the account's latest epoch that has ended; None before the first end."""
    ended = calendar_epoch(now, length) - 1
    if ended > 1 and epoch_start(ended + 1, length) > created + DAY:
        return ended
    if now >= created + DAY:
        return 1
    return 0 if now >= created + FIRST_END else None


def speaking_moment(epoch: int, created: int, length: int, secret: bytes) -> int:
    """Return the second from which on the letter of this epoch may leave."""
    over = epoch_end(epoch, created, length)
    if epoch < 2:
        return over
    return over + (random_word(root_of(secret), {"epoch": epoch}) * DAY >> 64)


def due_epoch(created: int, last_epoch: int, now: int, length: int, secret: bytes) -> int | None:
    """Return the epoch whose letter may leave now, after `last_epoch`'s; None where none may."""
    epoch = latest_ended_epoch(created, now, length)
    if (
        epoch is None
        or epoch <= last_epoch
        or now < speaking_moment(epoch, created, length, secret)
    ):
        return None
    return epoch
