"""Sentences with labels of words, which may depend on a marked word."""
