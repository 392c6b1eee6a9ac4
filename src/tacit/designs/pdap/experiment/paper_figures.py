"""Accuracies that the paper prints, for comparison. Its data and settings are not public."""

from __future__ import annotations

import math

NO_NOISE = math.inf
"""Epsilon of a policy without noise."""

ACCURACY: dict[tuple[str, str, float], dict[int, float]] = {
    ("Table II", "cap", NO_NOISE): {5_000: 0.7032, 10_000: 0.7536, 20_000: 0.7688, 50_000: 0.7734},
    ("Table II", "dup", NO_NOISE): {5_000: 0.7332, 10_000: 0.7452, 20_000: 0.7478, 50_000: 0.7508},
    ("Table II", "dap", NO_NOISE): {5_000: 0.8734, 10_000: 0.9021, 20_000: 0.9102, 50_000: 0.9217},
    ("Table III", "p-dap", 0.01): {5_000: 0.7754, 10_000: 0.7875, 20_000: 0.7992, 50_000: 0.8012},
    ("Table III", "p-dap", 0.1): {5_000: 0.7778, 10_000: 0.7935, 20_000: 0.8034, 50_000: 0.8116},
    ("Table III", "p-dap", 1.0): {5_000: 0.7896, 10_000: 0.7924, 20_000: 0.8106, 50_000: 0.8212},
    ("Table III", "dap", NO_NOISE): {5_000: 0.8684, 10_000: 0.8928, 20_000: 0.9023, 50_000: 0.9156},
    ("Table IV", "gp-dap", 0.01): {
        5_000: 0.8244,
        10_000: 0.8436,
        15_000: 0.8523,
        20_000: 0.8674,
        25_000: 0.8733,
        30_000: 0.8817,
    },
    ("Table IV", "p-dap", 0.01): {
        5_000: 0.7731,
        10_000: 0.7787,
        15_000: 0.7842,
        20_000: 0.7914,
        25_000: 0.8006,
        30_000: 0.8164,
    },
}
"""By (table, policy, epsilon): the accuracy in each test, by the test's number of visits."""


def accuracies_of_paper(policy: str, epsilon: float, test: int) -> dict[str, float]:
    """Find the paper's accuracy of a policy in a test of `test` visits, by table.

    Returns:
        A dict that is empty if the paper has no such accuracy.
    """
    accuracy_by_table: dict[str, float] = {}
    for (table, policy_of_table, epsilon_of_table), sizes in ACCURACY.items():
        if (policy_of_table, epsilon_of_table) == (policy, epsilon) and test in sizes:
            accuracy_by_table[table] = sizes[test]
    return accuracy_by_table
