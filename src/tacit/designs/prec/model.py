"""The class that a user meets: a run with its guarantee cards and its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from tacit import container
from tacit.atomic_writes import write_whole
from tacit.designs.prec import guarantees
from tacit.designs.prec.curator import Curator
from tacit.designs.prec.files import incomplete_run_error, pack_state, read_state
from tacit.designs.prec.settings import PRecSettings
from tacit.errors import UNUSABLE_CONTENT
from tacit.privacy import Guarantee
from tacit.randomness import Source

Content = tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]


class PRec(Curator):
    """Recommends from other people's votes, round after round, without revealing any voter.

    A run is used in one place only: it cannot be copied, a forked process is refused, and after
    `save` only the file can be continued.

    Args:
        settings: Settings of the run.
        randomness: `tacit.randomness.secure()`, or a replayed source in a simulation. The gate's
            noise is always the system's.
        number: Number of the run, below 2^64; None to draw it. It affects only the votes of
            abstainers.
    """

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the cards: for one client, for `clients_together` clients, and for all clients."""
        return guarantees.cards(self.settings, private=self.source.is_private)

    def save(self, path: str | Path) -> None:
        """Hand the run over to a file, from which `load` continues it. The file holds secrets.

        Afterwards this object refuses every call. An older file at the path is replaced once the
        new one is on disk.
        """
        self._hand_over(partial(write_whole, path))

    def to_bytes(self) -> bytes:
        """Hand the run over as bytes, which are as secret as the file.

        Afterwards this object refuses every call.
        """
        return self._hand_over(lambda _: None)

    def _hand_over(self, write: Callable[[bytes], None]) -> bytes:
        """Encode the run, and only if that succeeds, end the use of this object."""
        with self._take_turn():
            data = pack_state(self.state())
            write(data)
            self._is_handed_over = True
            return data

    @classmethod
    def from_bytes(cls, data: bytes, *, settings: PRecSettings, randomness: Source) -> Self:
        """Continue the run that `to_bytes` handed over.

        As with `load`, the same bytes must not be continued twice. The exception is a database
        transaction that was rolled back, so that nobody saw what was done with them. It may be
        tried again, with new draws.

        Raises:
            ModelFileError: The bytes are not a run, or a run of other settings.
        """
        return cls._from_content(container.unpack(data), "this run", randomness, settings)

    @classmethod
    def load(cls, path: str | Path, *, randomness: Source) -> Self:
        """Continue the run of a file that `save` wrote.

        Do not load a file twice, nor one that is older than what clients have seen: this answers
        the same rounds twice, which costs their epsilon twice. Nothing here can prevent it.

        Raises:
            ModelFileError: The file is not a run.
        """
        return cls._from_content(container.read(path), path, randomness)

    @classmethod
    def _from_content(
        cls,
        content: Content,
        path: str | Path,
        randomness: Source,
        expected: PRecSettings | None = None,
    ) -> Self:
        """Continue a run from a file's content.

        Args:
            content: Header and arrays, as `container` reads them.
            path: Named in errors.
            randomness: Source of the further draws.
            expected: Settings that the run has to have; their plan is used again. None for any.
        """
        state = read_state(content, path)
        try:
            if expected is not None and expected != state.settings:
                raise ValueError("it is a run of other settings")
            settings = state.settings if expected is None else expected
            run = cls(settings, randomness=randomness, number=state.number)
            run.restore(state)
        except UNUSABLE_CONTENT as error:
            raise incomplete_run_error(path, error) from None
        return run
