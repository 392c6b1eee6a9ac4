"""Sums over people on a Spark 4 cluster, or on `pysail`, through Spark Connect.

driver.py    what this machine asks of a cluster: sessions, rows, lists, reports
sums.py      sums and joins of what a cluster's tasks return, with checks that all are there once
workers.py   work of a cluster's workers on their part of the ratings
"""

from tacit.engine.spark.driver import TASK_ROWS as TASK_ROWS
from tacit.engine.spark.driver import connect as connect
from tacit.engine.spark.driver import fold_reports as fold_reports
from tacit.engine.spark.driver import open_spark as open_spark
from tacit.engine.spark.driver import write_lists as write_lists
from tacit.engine.spark.sums import SparkRatings as SparkRatings
