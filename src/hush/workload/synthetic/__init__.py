"""Synthetic rows from released tables: a model of all attributes, rows drawn from it, and a report on its errors."""
