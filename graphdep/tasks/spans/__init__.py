"""A label for one or two marked spans: settings, models, learning and the family."""
