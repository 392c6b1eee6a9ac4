"""Local privacy: the device draws the arm itself and reports at random."""
