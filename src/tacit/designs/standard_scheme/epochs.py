"""Epochs of an account, and the times at which its device sends the letter of each epoch.

An account's first two epochs end 30 minutes and 24 hours after its creation; their letters may be
sent as soon as they have ended. After that the calendar's epochs count: epoch k ends where k + 1
starts, and its letter may be sent from a random second of the following day on. Nothing else makes
a device send a letter: no rating, no number of ratings, no button. All times are Unix seconds, all
lengths are seconds.

Labels   0 and 1 for the first two epochs, afterwards the calendar's number k. No letter is made for
         calendar epochs 0 and 1, which lie near 1970. The TypeScript client follows the same rules.

Standard library only.
"""

from __future__ import annotations

from tacit.designs.standard_scheme.dice import derive_root, random_word
from tacit.designs.standard_scheme.messages import DAY, encode

FIRST_END = 1_800
"""Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY."""
LAST_EPOCH_OF_FIRST_DAY = 1
"""Label of the epoch that ends a DAY after the creation of an account."""
_FIRST_MONDAY = 345_600
"""Start of calendar epoch 0: 1970-01-05, 00:00 UTC."""


def calendar_epoch(time: int, length: int) -> int:
    """Return the number of the calendar epoch that this second lies in."""
    return (time - _FIRST_MONDAY) // length


def epoch_start(epoch: int, length: int) -> int:
    """Return the first second of a calendar epoch."""
    return _FIRST_MONDAY + epoch * length


def epoch_end(epoch: int, created: int, length: int) -> int:
    """Return the first second after the epoch with this label.

    Args:
        epoch: Label of the epoch: 0 or 1 for those of the account's first day.
        created: Second of the account's creation.
        length: Seconds of a calendar epoch.
    """
    if epoch == 0:
        return created + FIRST_END
    if epoch == 1:
        return created + DAY
    return epoch_start(epoch + 1, length)


def latest_ended_epoch(created: int, now: int, length: int) -> int | None:
    """Return the label of the account's latest epoch that has ended; None before the first end."""
    ended = calendar_epoch(now, length) - 1
    ended_after_first_day = epoch_start(ended + 1, length) > created + DAY
    if ended > 1 and ended_after_first_day:  # 0 and 1 are the labels of the first day
        return ended
    if now >= created + DAY:
        return 1
    if now >= created + FIRST_END:
        return 0
    return None


def sending_time(epoch: int, created: int, length: int, secret: bytes) -> int:
    """Return the first second at which the letter of this epoch may be sent.

    For calendar epochs it is floor(word DAY / 2^64) seconds after the epoch's end, where the word
    is pseudorandom and depends on the secret and the epoch alone.
    """
    end = epoch_end(epoch, created, length)
    if epoch <= LAST_EPOCH_OF_FIRST_DAY:
        return end
    word = random_word(derive_root(secret), encode({"epoch": epoch}))
    return end + (word * DAY >> 64)


def due_epoch(created: int, last_epoch: int, now: int, length: int, secret: bytes) -> int | None:
    """Return the epoch whose letter may be sent now.

    Args:
        created: Second of the account's creation.
        last_epoch: Label of the latest epoch whose letter was made; -1: none yet.
        now: The present second.
        length: Seconds of a calendar epoch.
        secret: The account's secret.

    Returns:
        Label of the latest ended epoch; None if its letter was made already, if its sending time
        has not come, or if no epoch has ended yet.
    """
    epoch = latest_ended_epoch(created, now, length)
    if epoch is None or epoch <= last_epoch:
        return None
    if now < sending_time(epoch, created, length, secret):
        return None
    return epoch
