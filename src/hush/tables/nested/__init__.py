"""Quantiles from nested blocks of bins: what is measured, how the bins are estimated from it, and when it is better."""
