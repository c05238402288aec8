r"""Perplexity of responses, in the ways that papers on dialogues compute it.

The metrics take negative log-likelihoods of whole responses :math:`\ell_b = -\ln p(y_b \mid x_b)` and their
numbers of tokens :math:`T_b`, so that test sets can be resampled and two models compared. Perplexities with
different vocabularies cannot be compared: a frequent [UNK] is easy to predict.
"""

from __future__ import annotations

import numpy as np

from graphdep.metrics.metric import Metric


def unigram_losses(train: np.ndarray, target: np.ndarray, num_words: int) -> np.ndarray:
    """Negative log-likelihood of every target token under the counts of the training tokens, each counted
    once more than it occurs: the floor of a perplexity.

    Shapes:
        - train: :math:`(M)`; target and output: :math:`(N)`
    """
    counts = np.bincount(train, minlength=num_words) + 1.0
    return -np.log(counts / counts.sum())[target]


def _exp(mean: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # infinite where a mean loss is above 709
        return np.exp(mean)


def _of_tokens(loss: np.ndarray, tokens: np.ndarray) -> float:
    return float(_exp(loss.sum() / tokens.sum()))


def _of_tokens_weighted(loss: np.ndarray, tokens: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return _exp((weight @ loss) / (weight @ tokens))


def _of_responses(loss: np.ndarray, tokens: np.ndarray) -> float:
    return float(_exp((loss / tokens).mean()))


def _of_responses_weighted(loss: np.ndarray, tokens: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return _exp((weight @ (loss / tokens)) / weight.sum(axis=1))


def _perplexity(name: str, signature: str, *, by_response: bool = False) -> Metric:
    compute, weighted = (
        (_of_responses, _of_responses_weighted)
        if by_response
        else (
            _of_tokens,
            _of_tokens_weighted,
        )
    )
    # Numbers of tokens say nothing about words: the floor comes from unigram_losses().
    return Metric(name, compute, None, f"PPL|{signature}", maximize=False, weighted=weighted)


PERPLEXITY = _perplexity(
    "perplexity",
    "exp of the mean loss over all target tokens, the end symbol of each response among them|dropout off|"
    "[UNK] is a word|floor: unigrams of the training responses",
)
PERPLEXITY_WORDS = _perplexity(
    "perplexity_words", "exp of the mean loss over all target tokens but the end symbols"
)
PERPLEXITY_RESPONSES = _perplexity(
    "perplexity_responses",
    "exp of the mean over responses of their mean loss|words of short ones count more",
    by_response=True,
)
