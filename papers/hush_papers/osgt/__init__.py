"""Sadeghi and Korki: offset-symmetric Gaussian tails."""
