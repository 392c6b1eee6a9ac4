"""One file for each noun of the interface; each has a `router`."""
