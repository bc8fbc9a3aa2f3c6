"""Four papers on noise for differential privacy, recomputed: published beside recomputed numbers."""
