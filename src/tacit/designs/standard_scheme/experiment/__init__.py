"""Experiments on the standard scheme: attacks on releases, what they cost, and the theorem.

setup         what every fold shares, and how its releases are simulated
fold          one fold: people the recommender never saw, attacked
accuracy      errors of predicted stars, and lists
at_device     lists for which nothing is sent, beside those from releases
evaluation    all folds, judged together
table         rows for people and for programs
commands      `tacit evaluate` and `tacit attack standard-scheme`
linear_world  a small world that follows the linear model, enumerated
theorem       `tacit simulate standard-scheme`
"""
