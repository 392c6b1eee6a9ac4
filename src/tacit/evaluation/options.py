"""Help texts and a default that the options of several commands share."""

OUT = "Model file to write."
SEED = "The same seed gives the same splits, people and draws; privacy noise takes no seed."
WORKERS = "Processes; 0 for all cores."
REPORT = "Write one self-contained page here."
LEAST_SEEDS = 6
"""Default number of seeds: with fewer, intervals over splits are wide."""
