"""Quantiles by exact selection: the grid of values, counts of rows by cell, the law, and the passes over a table."""
