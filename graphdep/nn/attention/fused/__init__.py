"""Fused Triton kernels behind one operator: `backend="triton"`."""
