"""Exact draws of noise from random bits, and mechanisms that add them on a lattice."""
