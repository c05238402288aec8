"""A label for each word: settings, models, learning and the family."""
