"""Which groups exist: a question of its own, without numbers."""
