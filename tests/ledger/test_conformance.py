"""Both stores pass the shared suite."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import pytest

from tacit.ledger import Ledger
from tests.support.ledger_checkpoints import checkpoints_every
from tests.support.ledger_suite import LedgerConformance


class TestSQLite(LedgerConformance):
    @pytest.fixture(autouse=True)
    def place(self, quick_folder, ledger_at):
        self.path, self.open = quick_folder / "budgets.db", ledger_at

    def fresh(self) -> Ledger:
        return self.open(self.path)

    def reopened(self) -> Ledger:
        return self.open(self.path, create=False)

    def beside(self, ledger: Ledger) -> AbstractContextManager[Ledger]:
        """A file has one owner, whose threads share it."""
        return nullcontext(ledger)


class TestSQLiteWithCheckpoints(TestSQLite):
    """Every opening of one test leaves a checkpoint to the next."""

    @pytest.fixture(autouse=True)
    def often(self):
        with checkpoints_every(2, running=3):
            yield

    test_the_log_tells_everything = None  # it counts entries


class TestPostgres(LedgerConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path, ledger_at, postgres):
        self.second, self.open = tmp_path / "head", ledger_at
        self.address = postgres.database()

    def fresh(self) -> Ledger:
        return self.open(self.address, second=self.second)

    def reopened(self) -> Ledger:
        return self.open(self.address, second=self.second, create=False)
