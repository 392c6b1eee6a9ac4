"""Help texts and defaults of the options that fits and experiments share."""

OUT = "Model file to write."
SEED = "The same seed gives the same splits, people and draws."
WORKERS = "Processes; 0 for all cores."
REPORT = "Write one self-contained page here."
LEAST_SEEDS = 6
"""Default number of seeds: with fewer, intervals over splits are wide."""
