"""Examples of response selection on disk."""
