"""Numerical tools with stated error bounds: brackets, error-free transforms, log-space arithmetic, Mills ratios, roots,
quadrature and rounding to the safe side.
"""
