"""Parses of other libraries in, and out to them; none of them is imported before it is needed."""
