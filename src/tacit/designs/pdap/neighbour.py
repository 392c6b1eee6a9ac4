"""A vendor as other vendors know it: it serves their users, and reports what came of a visit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.messages import REQUEST_BYTES, Forward, MessageError, Offer, Refusal, Reward
from tacit.designs.pdap.policies.base import Choice, Host, Hosts, Learns
from tacit.errors import ConfigError


@dataclass(slots=True)
class _Guest:
    asked: bytes
    answer: bytes
    choice: Choice
    reward: bytes | None = None


class Neighbour:
    """guests, agreement, keeps: see `Vendor`."""

    def __init__(
        self,
        videos: Sequence[str],
        guests: Hosts | None,
        agreement: Agreement | None,
        *,
        keeps: int,
    ) -> None:
        self.guests, self.shared = guests, isinstance(guests, Host)
        self._agreement, self._keeps = agreement, keeps
        self._guest_videos = dict(enumerate(videos))
        self._open_guests: OrderedDict[tuple[str, bytes], _Guest] = OrderedDict()

    def _knows(self, peer: str) -> bool:
        """Whether it is one of those that are served."""
        raise NotImplementedError

    def serve(self, peer: str, data: bytes) -> bytes:
        """The answer to another vendor's Forward: an Offer or a Refusal. Any input is accepted.

        peer: who asks, as the connection has proved.
        """
        try:
            asked = Forward.decode(data)
        except MessageError:
            return Refusal(bytes(REQUEST_BYTES), "malformed").encode()
        if not self._knows(peer):
            return Refusal(asked.request, "unknown").encode()
        before = self._open_guests.get((peer, asked.request))
        if before is not None:
            same = before.asked == data
            return before.answer if same else Refusal(asked.request, "malformed").encode()
        if self._agreement is None or not self._agreement.agrees(asked):
            return Refusal(asked.request, "not agreed").encode()
        if self.guests is None or not self._guest_videos:
            return Refusal(asked.request, "no video").encode()
        choice = self.guests.select(np.array(asked.context()))
        offer = Offer(asked.request, self._guest_videos[choice.arm]).encode()
        self._open_guests[peer, asked.request] = _Guest(data, offer, choice)
        if len(self._open_guests) > self._keeps:
            self._open_guests.popitem(last=False)
        return offer

    def unlearned(self, context: NDArray[np.float64]) -> str:
        """The own video that a forwarded user with this context would see, for an own user whose
        visit is none: nothing is learned of it, and time does not pass."""
        if self.guests is None:
            raise ConfigError("A vendor without a policy for guests has none for this.")
        return self._guest_videos[self.guests.select(context).arm]

    def guest_clicked(self, peer: str, request: bytes, reward: float) -> bytes | None:
        """The Reward to send for a guest, 0 or 1; the same bytes each time. None: no such guest."""
        guest = self._open_guests.get((peer, request))
        if guest is None or self.guests is None:
            return None
        if guest.reward is None:
            guest.reward = Reward.of(request, self.guests.answer(guest.choice, reward)).encode()
        return guest.reward

    def _add_guest_video(self, arm: int, name: str) -> None:
        """arm: its number for the vendor's own users."""
        if self.guests is not None:
            self._guest_videos[arm if self.shared else self._of_guests().add_arm()] = name

    def _remove_guest_video(self, name: str) -> None:
        if self.guests is not None:
            arm = arm_of(self._guest_videos, name, "video")
            if not self.shared:
                self._of_guests().remove_arm(arm)
            del self._guest_videos[arm]

    def _of_guests(self) -> Learns:
        assert self.guests is not None
        return self.guests  # type: ignore[return-value]  # unless shared, a policy of its own


def arm_of(names: Mapping[int, str], name: str, what: str) -> int:
    for arm, known in names.items():
        if known == name:
            return arm
    raise ConfigError(f"There is no {what} {name!r}: it never joined, or has left.")
