"""``csr``: long and sparse blocks, a few rows a program and head, a loop over their edges.

A program has 16 rows and takes some edges of each at a time, so that many gathers are under way; a row of
more than 64 edges has a program of its own, which takes 64 at a time. The forward pass keeps the logarithm of
each row's sum. The backward pass has two kernels, by targets and by sources, so that every number is written
by one program, and nothing of the size of the edges is kept between them.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):
    import triton.language as tl

from graphdep.nn.attention.fused.kernel_parts import jit, keep_edges


@jit
def edge_scores(raw, edge, there, head, BIAS, SCALE, H: tl.constexpr,
                HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr):  # fmt: skip
    """Scores of edges with their terms, -inf where there is no edge; and the scale."""
    score = raw
    scale = tl.full(raw.shape, 1.0, tl.float32)
    if HAS_SCALE:
        scale = tl.load(SCALE + edge * H + head, mask=there, other=1.0).to(tl.float32)
        score = score * scale
    if HAS_BIAS:
        score = score + tl.load(BIAS + edge * H + head, mask=there, other=0.0).to(tl.float32)
    return tl.where(there, score, float("-inf")), scale


@jit
def csr_forward(Q, K, V, BIAS, SCALE, SEED, OUT, LSE, ALPHA, NODES, ROWPTR, SOURCE, EDGE,
                stride_node, stride_head, threshold, keep_scale, sm_scale,
                H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
                BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                HAS_EDGE: tl.constexpr, DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr):  # fmt: skip
    """Output of some rows, and with ``WEIGHTS`` the weights of their edges after dropout."""
    head = tl.program_id(0) % H
    place = tl.program_id(0) // H * ROWS + tl.arange(0, ROWS)
    row = tl.load(NODES + place)
    inside = row >= 0
    begin = tl.load(ROWPTR + row, mask=inside, other=0)
    end = tl.load(ROWPTR + row + 1, mask=inside, other=0)
    channel = tl.arange(0, BLOCK_D)
    real = channel < D
    at = head * stride_head + channel
    q = tl.load(Q + row[:, None] * stride_node + at[None, :], mask=inside[:, None] & real[None, :], other=0.0)
    q = q.to(tl.float32)
    seed = SEED
    if DROPOUT:
        seed = tl.load(SEED)
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    out = tl.zeros((ROWS, BLOCK_D), tl.float32)
    longest = tl.max(end - begin, 0)
    for r in range(0, longest, WIDTH):
        pos = begin[:, None] + r + tl.arange(0, WIDTH)[None, :]
        there = pos < end[:, None]
        source = tl.load(SOURCE + pos, mask=there, other=0)
        edge = pos
        if HAS_EDGE:
            edge = tl.load(EDGE + pos, mask=there, other=0)
        from_ = source[:, :, None] * stride_node + at[None, None, :]
        mask = there[:, :, None] & real[None, None, :]
        k = tl.load(K + from_, mask=mask, other=0.0).to(tl.float32)
        raw = tl.sum(q[:, None, :] * k, 2) * sm_scale
        score, _ = edge_scores(raw, edge, there, head, BIAS, SCALE, H, HAS_BIAS, HAS_SCALE)
        new = tl.maximum(largest, tl.max(score, 1))
        shift = tl.where(new == float("-inf"), 0.0, new)
        weight = tl.exp(score - shift[:, None])
        shrink = tl.exp(largest - shift)
        total = total * shrink + tl.sum(weight, 1)
        largest = new
        if DROPOUT:
            keep = keep_edges(seed, row[:, None], edge, head, threshold)
            weight = tl.where(keep, weight * keep_scale, 0.0)
        v = tl.load(V + from_, mask=mask, other=0.0).to(tl.float32)
        out = out * shrink[:, None] + tl.sum(weight[:, :, None] * v, 1)
    total = tl.where(total == 0.0, 1.0, total)
    to = row[:, None] * (H * D) + head * D + channel[None, :]
    out = out / total[:, None]
    tl.store(OUT + to, out.to(OUT.dtype.element_ty), mask=inside[:, None] & real[None, :])
    lse = tl.where(largest == float("-inf"), 0.0, largest) + tl.log(total)
    tl.store(LSE + row * H + head, lse, mask=inside)
    if WEIGHTS:
        for r in range(0, longest, WIDTH):
            pos = begin[:, None] + r + tl.arange(0, WIDTH)[None, :]
            there = pos < end[:, None]
            source = tl.load(SOURCE + pos, mask=there, other=0)
            edge = pos
            if HAS_EDGE:
                edge = tl.load(EDGE + pos, mask=there, other=0)
            from_ = source[:, :, None] * stride_node + at[None, None, :]
            mask = there[:, :, None] & real[None, None, :]
            k = tl.load(K + from_, mask=mask, other=0.0).to(tl.float32)
            raw = tl.sum(q[:, None, :] * k, 2) * sm_scale
            score, _ = edge_scores(raw, edge, there, head, BIAS, SCALE, H, HAS_BIAS, HAS_SCALE)
            weight = tl.exp(score - lse[:, None])
            if DROPOUT:
                keep = keep_edges(seed, row[:, None], edge, head, threshold)
                weight = tl.where(keep, weight * keep_scale, 0.0)
            tl.store(ALPHA + edge * H + head, weight, mask=there)


@jit
def csr_backward_rows(Q, K, V, BIAS, SCALE, SEED, DOUT, DALPHA, LSE, DELTA, DQ,
                      NODES, ROWPTR, SOURCE, EDGE,
                      stride_node, stride_head, threshold, keep_scale, sm_scale,
                      H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
                      BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                      HAS_EDGE: tl.constexpr, DROPOUT: tl.constexpr,
                      WEIGHTS: tl.constexpr):  # fmt: skip
    r"""Gradients of some queries, and each row's sum of weight times gradient, :math:`\delta`.

    One sweep gives both: :math:`\sum_j p_j (g_j - \delta) c_j k_j = \sum_j p_j g_j c_j k_j - \delta \sum_j
    p_j c_j k_j`, where both sums are kept in 32 bits.
    """
    head = tl.program_id(0) % H
    place = tl.program_id(0) // H * ROWS + tl.arange(0, ROWS)
    row = tl.load(NODES + place)
    inside = row >= 0
    begin = tl.load(ROWPTR + row, mask=inside, other=0)
    end = tl.load(ROWPTR + row + 1, mask=inside, other=0)
    channel = tl.arange(0, BLOCK_D)
    real = channel < D
    at = head * stride_head + channel
    mine = inside[:, None] & real[None, :]
    to = row[:, None] * (H * D) + head * D + channel[None, :]
    q = tl.load(Q + row[:, None] * stride_node + at[None, :], mask=mine, other=0.0).to(tl.float32)
    grad = tl.load(DOUT + to, mask=mine, other=0.0).to(tl.float32)
    lse = tl.load(LSE + row * H + head, mask=inside, other=0.0)
    seed = SEED
    if DROPOUT:
        seed = tl.load(SEED)
    delta = tl.zeros((ROWS,), tl.float32)
    with_grad = tl.zeros((ROWS, BLOCK_D), tl.float32)
    without = tl.zeros((ROWS, BLOCK_D), tl.float32)
    for r in range(0, tl.max(end - begin, 0), WIDTH):
        pos = begin[:, None] + r + tl.arange(0, WIDTH)[None, :]
        there = pos < end[:, None]
        source = tl.load(SOURCE + pos, mask=there, other=0)
        edge = pos
        if HAS_EDGE:
            edge = tl.load(EDGE + pos, mask=there, other=0)
        from_ = source[:, :, None] * stride_node + at[None, None, :]
        mask = there[:, :, None] & real[None, None, :]
        k = tl.load(K + from_, mask=mask, other=0.0).to(tl.float32)
        raw = tl.sum(q[:, None, :] * k, 2) * sm_scale
        score, scale = edge_scores(raw, edge, there, head, BIAS, SCALE, H, HAS_BIAS, HAS_SCALE)
        weight = tl.exp(score - lse[:, None])
        v = tl.load(V + from_, mask=mask, other=0.0).to(tl.float32)
        grad_weight = tl.sum(grad[:, None, :] * v, 2)
        if WEIGHTS:
            grad_weight += tl.load(DALPHA + edge * H + head, mask=there, other=0.0)
        if DROPOUT:
            keep = keep_edges(seed, row[:, None], edge, head, threshold)
            grad_weight = tl.where(keep, grad_weight * keep_scale, 0.0)
        delta += tl.sum(weight * grad_weight, 1)
        scaled = weight * scale
        with_grad += tl.sum((scaled * grad_weight)[:, :, None] * k, 1)
        without += tl.sum(scaled[:, :, None] * k, 1)
    tl.store(DELTA + row * H + head, delta, mask=inside)
    dq = (with_grad - delta[:, None] * without) * sm_scale
    tl.store(DQ + to, dq.to(DQ.dtype.element_ty), mask=mine)


@jit
def csr_backward_columns(Q, K, V, BIAS, SCALE, SEED, DOUT, DALPHA, LSE, DELTA, DK, DV, DBIAS, DSCALE,
                         NODES, COLPTR, BY_SOURCE, TARGET, EDGE,
                         stride_node, stride_head, threshold, keep_scale, sm_scale,
                         H: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
                         BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                         HAS_EDGE: tl.constexpr, DROPOUT: tl.constexpr,
                         WEIGHTS: tl.constexpr):  # fmt: skip
    """Gradients of some keys and values, and of the terms of the edges that leave them."""
    head = tl.program_id(0) % H
    place = tl.program_id(0) // H * ROWS + tl.arange(0, ROWS)
    column = tl.load(NODES + place)
    inside = column >= 0
    begin = tl.load(COLPTR + column, mask=inside, other=0)
    end = tl.load(COLPTR + column + 1, mask=inside, other=0)
    channel = tl.arange(0, BLOCK_D)
    real = channel < D
    at = head * stride_head + channel
    mine = inside[:, None] & real[None, :]
    own = column[:, None] * stride_node + at[None, :]
    k = tl.load(K + own, mask=mine, other=0.0).to(tl.float32)
    v = tl.load(V + own, mask=mine, other=0.0).to(tl.float32)
    seed = SEED
    if DROPOUT:
        seed = tl.load(SEED)
    dk = tl.zeros((ROWS, BLOCK_D), tl.float32)
    dv = tl.zeros((ROWS, BLOCK_D), tl.float32)
    for r in range(0, tl.max(end - begin, 0), WIDTH):
        step = begin[:, None] + r + tl.arange(0, WIDTH)[None, :]
        there = step < end[:, None]
        pos = tl.load(BY_SOURCE + step, mask=there, other=0)
        row = tl.load(TARGET + pos, mask=there, other=0)
        edge = pos
        if HAS_EDGE:
            edge = tl.load(EDGE + pos, mask=there, other=0)
        mask = there[:, :, None] & real[None, None, :]
        q = tl.load(Q + row[:, :, None] * stride_node + at[None, None, :], mask=mask, other=0.0)
        q = q.to(tl.float32)
        from_ = row[:, :, None] * (H * D) + head * D + channel[None, None, :]
        grad = tl.load(DOUT + from_, mask=mask, other=0.0).to(tl.float32)
        raw = tl.sum(q * k[:, None, :], 2) * sm_scale
        score, scale = edge_scores(raw, edge, there, head, BIAS, SCALE, H, HAS_BIAS, HAS_SCALE)
        weight = tl.exp(score - tl.load(LSE + row * H + head, mask=there, other=0.0))
        used = weight
        grad_weight = tl.sum(grad * v[:, None, :], 2)
        if WEIGHTS:
            grad_weight += tl.load(DALPHA + edge * H + head, mask=there, other=0.0)
        if DROPOUT:
            keep = keep_edges(seed, row, edge, head, threshold)
            used = tl.where(keep, weight * keep_scale, 0.0)
            grad_weight = tl.where(keep, grad_weight * keep_scale, 0.0)
        grad_score = weight * (grad_weight - tl.load(DELTA + row * H + head, mask=there, other=0.0))
        if HAS_BIAS:
            tl.store(DBIAS + edge * H + head, grad_score.to(DBIAS.dtype.element_ty), mask=there)
        if HAS_SCALE:
            value = grad_score * raw
            tl.store(DSCALE + edge * H + head, value.to(DSCALE.dtype.element_ty), mask=there)
        dv += tl.sum(used[:, :, None] * grad, 1)
        dk += tl.sum((grad_score * scale * sm_scale)[:, :, None] * q, 1)
    to = column[:, None] * (H * D) + head * D + channel[None, :]
    tl.store(DK + to, dk.to(DK.dtype.element_ty), mask=mine)
    tl.store(DV + to, dv.to(DV.dtype.element_ty), mask=mine)
