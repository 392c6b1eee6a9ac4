"""Joint privacy: what is learned of a visit leaves in noisy sums only."""
