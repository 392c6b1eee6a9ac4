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

    One run exists once: it cannot be copied, a forked process is refused, and after `save` only
    the file goes on.

    Args:
        settings: Settings of the run.
        randomness: `tacit.randomness.secure()`, or a replayed source in a simulation. The gate's
            noise is always the system's.
        number: Number of the run, below 2^64, else drawn; only abstainers' votes follow from it.
    """

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return a card for one client's view, one for those priced together, one for all."""
        return guarantees.cards(self.settings, private=self.source.is_private)

    def save(self, path: str | Path) -> None:
        """Hand the run over to a file. It holds secrets, and `load` goes on from it, once.

        An old file stays until the new one is on disk.
        """
        self._hand_over(partial(write_whole, path))

    def to_bytes(self) -> bytes:
        """Hand the run over as bytes, as secret as the file; this object is used up."""
        return self._hand_over(lambda _: None)

    def _hand_over(self, write: Callable[[bytes], None]) -> bytes:
        with self._take_turn():
            data = pack_state(self.state())
            write(data)
            self._handed_over = True
            return data

    @classmethod
    def from_bytes(cls, data: bytes, *, settings: PRecSettings, randomness: Source) -> Self:
        """Go on with the run that `to_bytes` handed over.

        What is said of loading a file twice holds here. A transaction that is undone, with the
        bytes kept in it, may be done again: nobody saw it, and all is drawn anew.

        Raises:
            ModelFileError: Other bytes, or a run of other settings.
        """
        return cls._from_content(container.unpack(data), "this run", randomness, settings)

    @classmethod
    def load(cls, path: str | Path, *, randomness: Source) -> Self:
        """Go on with the run of a file that `save` wrote.

        Loading a file twice, or one that is older than what clients have seen since, answers the
        same rounds twice, which costs their epsilon twice. Nothing here can prevent that.

        Raises:
            ModelFileError: The file holds no run.
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
        """Make the run that goes on from a file's content.

        Args:
            content: Header and arrays, as `container` reads them.
            path: Named in errors.
            randomness: Randomness of the run that goes on.
            expected: Settings of the run, where they are known and planned for already.
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
