"""Zawacki and Abed: symmetric alpha-stable noise."""
