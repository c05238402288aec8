"""Agreement of verbs, with the trees of brackets."""
