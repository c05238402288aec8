"""Examples that post-train an encoder."""
