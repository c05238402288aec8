"""Sentences with one or two marked spans, and one label."""
