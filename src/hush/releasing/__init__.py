"""Releases: values plus paid noise, with error bars and a receipt."""
