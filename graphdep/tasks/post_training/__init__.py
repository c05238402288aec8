"""Post-training of a pretrained encoder."""
