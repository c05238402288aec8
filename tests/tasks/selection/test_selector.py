from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import RelationVocab, Responder, ResponseSelector, Sentence, SentenceEncoder, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence
from graphdep.training import TrainConfig, load_task
from graphdep.training.checkpoint import RunState
from graphdep.vocab import VocabTokens

WORDS = "ann bob cid saw met the and you n't do . , ?".split()
SIZES = {"encoder": "transformer", "hidden_channels": 16, "ff_channels": 8, "heads": 2, "num_layers": 2}
SIZES |= {"max_length": 24, "accelerator": "cpu"}
CONTEXT = ["ann saw bob", "bob met cid and you", "do you ?"]
CANDIDATES = ["the cid", "you saw ann and bob .", "do n't", "cid"]


class Stub(Parser):
    """A flat tree a text; long texts fail. Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    @property
    def fingerprint(self) -> str:
        return "stub"

    def parse_texts(self, texts):
        self.seen += texts
        return [self._parse(text.split()) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError

    def _parse(self, words):
        if len(words) > 100:
            return Parsed([chain_sentence(words, "too long")], "too long")
        return Parsed([tree(words)])


def tree(words):
    return Sentence(words, [0] + [1] * (len(words) - 1), ["root"] + ["obj"] * (len(words) - 1))


def save(folder, model="bert-sia", *, change=None, **settings):
    """A checkpoint of a model that is not trained, with weights large enough to have opinions."""
    config = TrainConfig.of(model, task="ubuntu", **{**SIZES, **settings})
    state = RunState(config, Vocab(WORDS, lower=True), RelationVocab(), {})
    torch.manual_seed(0)
    task = state.build_task()
    with torch.no_grad():
        for parameter in task.parameters():
            parameter.mul_(3)
        if change is not None:
            change(task.model)
    path = folder / f"{model}.ckpt"
    torch.save({"graphdep": state.state_dict(), "state_dict": task.state_dict()}, path)
    return path


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return save(tmp_path_factory.mktemp("run"))


def expected(checkpoint, context, candidates):
    """Each candidate alone, step by step."""
    task, state = load_task(checkpoint)
    tokens = VocabTokens(state.vocab)

    def encode(text):
        return EncodedUtterance.of(tree(text.split()), tokens, state.relations)

    scores = []
    for candidate in candidates:
        data = selection_data(
            [encode(turn) for turn in context], encode(candidate), tokens, max_length=state.config.max_length
        )
        with torch.no_grad():
            scores.append(task.model(task.edges(Batch.from_data_list([data]))).double().sigmoid().item())
    return scores


@pytest.mark.parametrize(
    "model", ["bert-sia", "bert", "bert-vanilla", "bert-intra", "bert-inter", "bert-sia@random"]
)
def test_scores_are_those_of_each_candidate_alone(tmp_path, model):
    path = save(tmp_path, model)
    found = ResponseSelector(path, parser=Stub(), batch_size=3).rank(CONTEXT, CANDIDATES)
    scores = expected(path, CONTEXT, CANDIDATES)
    assert len({round(score, 3) for score in scores}) > 1
    if model != "bert-sia@random":  # whose trees depend on the seed and the words, not on the batch
        assert found.scores == pytest.approx(scores, abs=1e-5)
    assert found.ranking == sorted(range(4), key=lambda number: -found.scores[number])


def test_pools_are_ranked_as_alone_and_each_text_is_parsed_once(checkpoint):
    parser = Stub()
    pools = [
        {"context": CONTEXT, "candidates": CANDIDATES},
        {"context": ["you"], "candidates": ["ann saw bob"]},
        {"context": CONTEXT[:1], "candidates": CANDIDATES[::-1]},
    ]
    selector = ResponseSelector(checkpoint, parser=parser)
    found = selector.rank_pools(pools)
    assert len(parser.seen) == len(set(parser.seen)) == 8
    for pool, ranking in zip(pools, found):
        alone = selector.rank(**pool)
        assert ranking.ranking == alone.ranking
        assert ranking.scores == pytest.approx(alone.scores, abs=1e-6)
    assert found[1].ranking == [0]


def test_equal_candidates_have_equal_scores_and_keep_their_order(checkpoint):
    found = ResponseSelector(checkpoint, parser=Stub(), batch_size=1).rank(
        CONTEXT, ["cid", "ann", "cid", "cid"]
    )
    assert found.scores[0] == found.scores[2] == found.scores[3]
    places = [found.ranking.index(number) for number in (0, 2, 3)]
    assert places == sorted(places)


def test_what_is_cut_is_counted(checkpoint):
    selector = ResponseSelector(checkpoint, parser=Stub())
    selector.rank([" ".join(["ann"] * 30)], ["cid", "bob " * 50])
    # 24 nodes: [CLS] .. [EOU] [SEP] cid [SEP] leaves room for 19 words; the second candidate fills them all.
    assert selector.cut_words == {"context": 11 + 30, "candidates": 50 - 21}
    selector.rank(["ann"], ["cid"])
    assert selector.cut_words == {"context": 0, "candidates": 0}


def test_max_turns_reads_the_last_turns(tmp_path):
    selector = ResponseSelector(save(tmp_path, max_turns=1), parser=(parser := Stub()))
    found = selector.rank(CONTEXT, CANDIDATES)
    assert CONTEXT[0] not in parser.seen
    assert found == selector.rank(CONTEXT[-1:], CANDIDATES)


def test_failures_of_the_parser_are_counted(checkpoint):
    selector = ResponseSelector(checkpoint, parser=Stub())
    selector.rank(["ann " * 101], ["cid"])
    assert selector.parser_failures == 1


@pytest.mark.parametrize(
    ("context", "candidates", "error", "message"),
    [
        ([], ["a"], ValueError, "'context' is empty"),
        (["a"], [], ValueError, "'candidates' is empty: there must be at least one candidate"),
        (["a", " "], ["a"], ValueError, r"'context\[1\]' is blank"),
        (["a"], ["a", ""], ValueError, r"'candidates\[1\]' is blank"),
        ("a", ["a"], TypeError, "'context' must be a list"),
        (["a"], ["a", 3], TypeError, r"'candidates\[1\]' must be a string \(got int 3\)"),
        (["a"], ["\ud83d"], ValueError, r"'candidates\[0\]' has half a character"),
    ],
)
def test_bad_input_is_named(checkpoint, context, candidates, error, message):
    with pytest.raises(error, match=message):
        ResponseSelector(checkpoint, parser=Stub()).rank(context, candidates)


def test_bad_pools_are_named(checkpoint):
    selector = ResponseSelector(checkpoint, parser=Stub())
    with pytest.raises(TypeError, match=r"'pools\[1\]' must have 'context' and 'candidates'"):
        selector.rank_pools([{"context": ["a"], "candidates": ["b"]}, {"context": ["a"]}])
    with pytest.raises(ValueError, match=r"'pools\[0\].candidates' is empty"):
        selector.rank_pools([{"context": ["a"], "candidates": []}])
    assert selector.rank_pools([]) == []


def test_scores_that_are_not_finite_are_no_ranking(tmp_path):
    def blow_up(model):
        for parameter in model.parameters():
            parameter.fill_(3e38)

    selector = ResponseSelector(save(tmp_path, change=blow_up), parser=Stub())
    with pytest.raises(ValueError, match="outputs that are not finite"):
        selector.rank(CONTEXT, CANDIDATES)


def test_checkpoints_that_cannot_rank_are_refused(tmp_path):
    def spoil(model):
        next(model.parameters()).fill_(float("nan"))

    with pytest.raises(ValueError, match="weights are not finite"):
        ResponseSelector(save(tmp_path, change=spoil), parser=Stub())
    with pytest.raises(ValueError, match="trained with the parser"):
        ResponseSelector(save(tmp_path, parser="stanza:zh"))


def test_a_checkpoint_of_selection_gives_neither_vectors_nor_responses(checkpoint):
    for other, what in ((SentenceEncoder, "sentence vectors"), (Responder, "responses")):
        message = f"task 'ubuntu', which gives no {what} but rankings: see graphdep.ResponseSelector"
        with pytest.raises(ValueError, match=message):
            model = other(checkpoint, parser=Stub())
            model.encode(["ann saw bob"])


def test_a_longer_text_is_refused_before_anything_is_parsed_or_cut(checkpoint):
    pool = {"context": CONTEXT, "candidates": [*CANDIDATES, "ann bob cid saw met the"]}
    selector = ResponseSelector(checkpoint, parser=Stub(), device="cpu", max_words=5)
    with pytest.raises(ValueError, match=r"'candidates\[1\]' has more than max_words=5 words"):
        selector.rank(**pool)
    pools = [{"context": ["ann"], "candidates": ["bob"]}, {"context": ["a b c d e f"], "candidates": ["bob"]}]
    with pytest.raises(ValueError, match=r"'pools\[1\]\.context\[0\]' has more than max_words=5 words"):
        selector.rank_pools(pools)
    assert selector.parser.seen == []
    cut = ResponseSelector(checkpoint, parser=Stub(), device="cpu", max_words=5, truncate=True)
    whole = ResponseSelector(checkpoint, parser=Stub(), device="cpu")
    pool = {"context": ["ann saw bob"], "candidates": ["ann bob cid saw met the", "you"]}
    short = {**pool, "candidates": ["ann bob cid saw met", "you"]}
    assert cut.rank(**pool) == whole.rank(**short)
    with pytest.raises(ValueError, match=r"'context\[0\]' has more than max_words=10000 words"):
        whole.rank(["word " * 10_001], ["you"])
