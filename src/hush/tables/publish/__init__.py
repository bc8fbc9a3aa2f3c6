"""What is made from an answer after it is released: totals, shares, ratios, differences, long tables and files.

Everything here is post-processing: it uses released numbers and public facts, so it costs no privacy.
"""
