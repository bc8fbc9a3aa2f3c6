"""Bits, and exact draws made from them."""
