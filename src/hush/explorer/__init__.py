"""`hush explore`: what a privacy budget buys, on one page, for the conversation before any release."""

from hush.explorer.server import Server

__all__ = ["Server"]
