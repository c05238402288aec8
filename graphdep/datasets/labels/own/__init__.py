"""The user's own labelled words: JSON lines, CoNLL-U, two columns, spaCy's DocBin."""
