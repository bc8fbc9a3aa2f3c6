"""Muthukrishnan and Kalyani: flipped Huber noise."""
