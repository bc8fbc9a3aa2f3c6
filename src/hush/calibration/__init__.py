"""How calibrate works: what is asked (demand), the least scale, families tied to a budget, and the search for a
shape.
"""
