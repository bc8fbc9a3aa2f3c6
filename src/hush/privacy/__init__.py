"""Sensitivity, theorems, charges, privacy curves and their composition."""
