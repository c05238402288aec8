from __future__ import annotations

import pytest
import torch

from graphdep.nn.models import NodeEmbedding, WordOutput


def test_words_are_scored_by_their_vectors() -> None:
    embedding = NodeEmbedding(7, 4, max_positions=0, max_levels=0, vectors=torch.randn(7, 5))
    output, x = WordOutput(embedding, 6), torch.randn(2, 3, 6)
    torch.nn.init.normal_(output.bias)
    state = output.lin(x)
    for word in range(7):
        expected = state @ embedding.word.weight[word] + output.bias[word]
        assert torch.allclose(output(x, embedding)[..., word], expected, atol=1e-5)
    assert [name for name, _ in output.named_parameters()] == ["bias", "lin.weight", "lin.bias"]


# The vectors are as long as GloVe's.
@pytest.mark.parametrize(("vectors", "most"), [(None, 1.0), (0.4 * torch.randn(2000, 300), 0.5)])
def test_at_first_all_words_are_about_equally_likely(vectors: torch.Tensor | None, most: float) -> None:
    embedding = NodeEmbedding(2000, 128, max_positions=0, max_levels=0, vectors=vectors)
    states = torch.nn.functional.layer_norm(torch.randn(50, 128), (128,))
    assert 0.05 < WordOutput(embedding, 128)(states, embedding).std() < most


def test_untied() -> None:
    embedding = NodeEmbedding(7, 4, max_positions=0, max_levels=0)
    output, x = WordOutput(embedding, 6, tie=False), torch.randn(3, 6)
    assert torch.equal(output(x, embedding), output.lin(x))
    assert output(x, embedding).shape == (3, 7)
    assert "tie=False" in repr(output)
    assert "tie=True" in repr(WordOutput(embedding, 6))
