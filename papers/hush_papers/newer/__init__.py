"""Newer papers that follow the four: their settings with certified numbers."""
