"""Conformance suites for authors of recommenders, designs, attackers, metrics and data sets.

A suite is a class of tests. Three lines run it for a metric of your own:

    class TestMine(MetricConformance):
        def make(self):
            return my_metric

`tacit.extensions` describes the entry points by which tacit finds such extensions. pytest runs the
suites, which do not import it. Each test checks one claim, which its docstring states.
"""

from tacit.testing.attackers import AttackerConformance as AttackerConformance
from tacit.testing.datasets import DatasetConformance as DatasetConformance
from tacit.testing.designs import DesignConformance as DesignConformance
from tacit.testing.metrics import MetricConformance as MetricConformance
from tacit.testing.recommenders import RecommenderConformance as RecommenderConformance
