"""`hush explore`: a page that shows privacy and error side by side, for the discussion before a release."""

from hush.explorer.server import Server

__all__ = ["Server"]
