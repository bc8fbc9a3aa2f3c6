"""Arithmetic that keeps its promises: brackets, error-free transforms, log-space, Mills ratios, safe roots,
quadrature.
"""
