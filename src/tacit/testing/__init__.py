"""Suites for authors of recommenders, designs, attackers, metrics and data sets.

A suite holds of every part of another package. A new one is checked in three lines:

    class TestMine(MetricConformance):
        def make(self):
            return my_metric

Entry points are described in `tacit.extensions`. The suites are run by pytest, which they do not
import: one claim per test, stated in its docstring.
"""

from tacit.testing.attackers import AttackerConformance as AttackerConformance
from tacit.testing.datasets import DatasetConformance as DatasetConformance
from tacit.testing.designs import DesignConformance as DesignConformance
from tacit.testing.metrics import MetricConformance as MetricConformance
from tacit.testing.recommenders import RecommenderConformance as RecommenderConformance
