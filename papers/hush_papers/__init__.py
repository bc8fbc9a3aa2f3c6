"""The four papers, redone: published beside recomputed."""
