"""Systems that the papers compare with."""
