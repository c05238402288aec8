"""Tables of many runs."""
