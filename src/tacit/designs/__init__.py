"""One folder for each design. No design imports another."""
