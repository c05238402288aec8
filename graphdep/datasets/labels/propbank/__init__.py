"""Semantic roles: PropBank on the English Web Treebank, and Universal PropBank."""
