"""Fused kernels in Triton, behind one operator: `backend="triton"`."""
