"""The papers' results for several numbers, beside noise that is drawn for all numbers together."""
