"""What all datasets share."""
