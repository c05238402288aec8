"""Extensions of Sphinx that are this site's own."""
