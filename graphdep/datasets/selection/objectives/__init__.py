"""Further examples that training pairs give, for models that learn more than which response is right."""
