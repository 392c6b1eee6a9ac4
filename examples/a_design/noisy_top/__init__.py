"""Noisy top: the most liked items, counted with Laplace noise."""

from noisy_top.model import NoisyTop

__all__ = ["NoisyTop"]
