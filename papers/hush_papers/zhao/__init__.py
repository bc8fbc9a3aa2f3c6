"""Zhao et al.: the Gaussian mechanism, reviewed."""
