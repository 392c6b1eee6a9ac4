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
from tacit.errors import UNUSABLE_CONTENT, ModelFileError
from tacit.privacy import Guarantee
from tacit.randomness import Source

Content = tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]
"""Header and arrays of a file, as `container` reads them."""


class PRec(Curator):
    """Recommends from other people's votes, round after round, without revealing any voter.

    A run goes on in one place only. It cannot be copied, and calls that change it are refused in a
    forked process and after `save` or `to_bytes`: then only the file or the bytes can be continued.

    Args:
        settings: Settings of the run.
        randomness: Source of all draws but the gate's noise, which always comes from the operating
            system: `tacit.randomness.secure()`, or a replayed source in a simulation.
        number: Number of the run, from 0 to 2^64 - 1; None to draw it from `randomness`. It affects
            only the votes of abstainers.
    """

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of this run (`guarantees.cards`).

        For the sound variant with a finite epsilon these are one for a client by themselves, one
        for `clients_together` clients, and one for all `clients`.
        """
        return guarantees.cards(self.settings, private=self.source.is_private, plan=self.plan)

    def save(self, path: str | Path) -> None:
        """Hand the run over to a file, from which `load` continues it. The file holds secrets.

        Afterwards this object refuses every call that changes the run. An older file at the path is
        replaced once the new one is on disk.

        Raises:
            PrivacyError: The run was handed over before, or this is a forked process.
        """
        self._hand_over(partial(write_whole, path))

    def to_bytes(self) -> bytes:
        """Hand the run over as bytes, from which `from_bytes` continues it. They hold secrets.

        Afterwards this object refuses every call that changes the run.

        Raises:
            PrivacyError: The run was handed over before, or this is a forked process.
        """
        return self._hand_over(lambda _: None)

    def _hand_over(self, write: Callable[[bytes], None]) -> bytes:
        """Encode the run and write it; if both succeed, this object cannot go on with it.

        Args:
            write: Stores the encoded run.

        Returns:
            The encoded run.
        """
        with self._take_turn():
            data = pack_state(self.state())
            write(data)
            self._is_handed_over = True
            return data

    @classmethod
    def from_bytes(cls, data: bytes, *, settings: PRecSettings, randomness: Source) -> Self:
        """Continue the run that `to_bytes` handed over.

        As with `load`, do not continue the same bytes twice. The exception is a database
        transaction that was rolled back: nobody saw its recommendations, so it may be repeated with
        the same bytes and new draws.

        Args:
            data: What `to_bytes` returned.
            settings: Settings that the run must have. If their `plan` was computed before, it is
                not computed again.
            randomness: Source of the further draws.

        Raises:
            ModelFileError: The bytes are not a run, or a run of other settings.
        """
        return cls._from_content(container.unpack(data), "this run", randomness, settings)

    @classmethod
    def load(cls, path: str | Path, *, randomness: Source) -> Self:
        """Continue the run of a file that `save` wrote.

        Do not load a file twice, nor a file that was written before clients saw further
        recommendations: rounds would be answered twice, which costs their epsilon twice. Nothing
        here can prevent that.

        Args:
            path: Path of the file.
            randomness: Source of the further draws.

        Raises:
            ModelFileError: The file is not a run, or it is damaged or incomplete. Or by the bounds
                of this version its gates cost more than its settings allow; a new run in its place
                would cost the same voters epsilon and delta again.
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
            path: The file, or a name for the content; errors begin with it.
            randomness: Source of the further draws.
            expected: Settings that the run must have, whose plan is then used; None for any.

        Raises:
            ModelFileError: The content is not a run, or a run of other settings.
        """
        state = read_state(content, path)
        if expected is not None and expected != state.settings:
            raise ModelFileError(
                f"{path}: it is a run of other settings. Continue it with those that it began with."
            )
        settings = state.settings if expected is None else expected
        try:
            run = cls(settings, randomness=randomness, number=state.number)
            run.restore(state)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        except UNUSABLE_CONTENT as error:
            raise incomplete_run_error(path, error) from None
        return run
