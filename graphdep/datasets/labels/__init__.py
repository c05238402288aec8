"""Sentences with a label for each word, for some words, or for words as one of them sees them."""
