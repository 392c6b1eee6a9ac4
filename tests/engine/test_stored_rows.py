"""Closing what is stored on a cluster."""

from __future__ import annotations

import pytest

from tacit.engine.spark.sums import SparkRatings
from tacit.errors import ClusterError, PrivacyError


def test_a_cluster_that_is_gone_does_not_hide_what_failed():
    """Such as that a charge stays: closing is tried, and its own error is not heard."""

    class Gone:
        def stop(self):
            raise ClusterError("gone")

        unpersist = stop

    def failing():
        with SparkRatings(Gone(), Gone(), None, 1):
            raise PrivacyError("it stays charged")

    with pytest.raises(PrivacyError, match="stays charged"):
        failing()
