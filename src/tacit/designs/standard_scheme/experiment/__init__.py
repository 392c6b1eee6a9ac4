"""Experiments on the standard scheme: attacks on releases, what they cost, and the theorem.

setup         data and settings that every fold shares, and simulated releases
fold          attacks on the people of one fold, whom the recommender never saw
accuracy      errors of predicted stars, and quality of lists, in one fold
at_device     lists made on the device without a release, compared with lists from releases
evaluation    all folds together: the strongest attacker of each release
table         results as rows, and a verdict in words
report        tables for the terminal, and the page
commands      `tacit evaluate` and `tacit attack standard-scheme`
linear_world  a small world that follows the linear model, with every outcome enumerated
theorem       `tacit simulate standard-scheme`
"""
