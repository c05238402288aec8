"""Self-written corpora, small enough for a clone."""
