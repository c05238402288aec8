"""One run: its training, checkpoint, scores and predictions."""
