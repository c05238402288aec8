"""What a family of tasks is made of."""
