from __future__ import annotations

import dataclasses

import pytest
import torch

from graphdep import RelationVocab, Responder, Sentence, SentenceEncoder, Vocab, to_data
from graphdep.decoding import DecodeConfig
from graphdep.parsing import Parser
from graphdep.parsing.parser import Parsed, chain_sentence
from graphdep.sentence.sentence import truncate
from graphdep.training import TrainConfig, load_task
from graphdep.training.checkpoint import RunState
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.vocab import detokenize

WORDS = "ann bob cid saw met the and you n't do . , ?".split()
CONTEXTS = [
    ["ann saw bob"],
    ["ann saw bob", "bob met cid . you saw ann"],
    ["cid", "ann saw bob", "the and you", "do n't", "bob met cid . you saw ann"],
    ["the saw met the and you do n't , ? ."],
    ["ann saw bob", "ann saw bob"],
]
SIZES = {"hidden_channels": 16, "ff_channels": 8, "heads": 2, "num_layers": 1, "context_layers": 1}
SIZES |= {"decoder_layers": 1, "max_turns": 3, "max_words": 6, "max_length": 6, "accelerator": "cpu"}
MODELS = ["transformer-dra", "transformer", "dialogbert", "recosa", "hred", "hran", "transformer-dra@random"]


class Stub(Parser):
    """A flat tree for every full stop; long texts fail. Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    @property
    def fingerprint(self) -> str:
        return "stub"

    def parse_texts(self, texts):
        self.seen += texts
        return [self._parse(text) for text in texts]

    def parse_sentences(self, sentences):
        raise NotImplementedError

    def _parse(self, text):
        if len(text.split()) > 100:
            return Parsed([chain_sentence(text.split(), "too long")], "too long")
        parts = [part.split() for part in text.split(" . ") if part.strip("\u200b ")]
        return Parsed(
            [Sentence(w, [0] + [1] * (len(w) - 1), ["root"] + ["obj"] * (len(w) - 1)) for w in parts]
        )


def save(folder, model="transformer-dra", *, vocab=None, change=None, **settings):
    """A checkpoint of a model that is not trained, with weights large enough to have opinions."""
    config = TrainConfig.of(model, task="dailydialog", **{**SIZES, **settings})
    vocab = vocab or Vocab(WORDS, lower=True)
    state = RunState(config, vocab, RelationVocab(), {})
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


def responder(checkpoint, **options):
    return Responder(checkpoint, **{"parser": Stub(), "device": "cpu", **options})


@pytest.mark.parametrize("roots", ["all", "first"])
def test_equals_the_model_on_each_context_alone(tmp_path, roots):
    checkpoint = save(tmp_path, roots=roots)
    task, state = load_task(checkpoint)
    stub = Stub()
    expected = []
    for context in CONTEXTS:
        trees = [stub.parse([turn])[0] for turn in context[-3:]]
        trees = [truncate(parse[0] if len(parse) == 1 else _two(*parse, roots), 6) for parse in trees]
        data = to_data(trees, vocab=state.vocab, relations=state.relations, positions="example")
        ((best,),) = task.model.generate(task.edges(data), state.config.decoding())
        expected.append([detokenize(state.vocab.words_of(best.ids))])
    assert len({text for (text,) in expected}) >= 3
    assert responder(checkpoint).respond(CONTEXTS) == expected


def _two(first, second, roots):
    """Two flat trees as one."""
    root, label = (0, "root") if roots == "all" else (1, "parataxis")
    heads = [0] + [1] * (len(first) - 1) + [root] + [len(first) + 1] * (len(second) - 1)
    deprel = [*first.deprel, label, *second.deprel[1:]]
    return Sentence(first.form + second.form, heads, deprel, multiroot=roots == "all")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "decoding",
    [{}, {"strategy": "beam", "num_return": 3}, {"strategy": "sample", "num_return": 2, "seed": 5}],
    ids=["greedy", "beam", "sample"],
)
def test_a_response_does_not_depend_on_the_others(tmp_path, model, decoding):
    path = save(tmp_path, model)
    together = responder(path, batch_size=3, **decoding).hypotheses(CONTEXTS)
    one = responder(path, **decoding)
    alone = [hypotheses for context in CONTEXTS for hypotheses in one.hypotheses([context])]
    assert [[h.ids for h in found] for found in together] == [[h.ids for h in found] for found in alone]
    for a, b in zip(together, alone):
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-4)


def test_subwords(tmp_path):
    vocab = PieceVocab.train([WORDS], 270, lower=True)
    path = save(tmp_path, "transformer-dra-bpe", vocab=vocab, pieces=270)
    contexts = [*CONTEXTS, ["😀 我喜欢"]]
    model = responder(path)
    assert model.respond(contexts) == [texts for context in contexts for texts in model.respond([context])]


def test_the_best_are_different_and_in_order(checkpoint):
    model = responder(checkpoint, strategy="beam", beams=4, num_return=4)
    for texts, hypotheses in zip(model.respond(CONTEXTS), model.hypotheses(CONTEXTS)):
        assert len({h.ids for h in hypotheses}) == len(texts) == 4
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)


def test_draws_differ_by_seed_alone(checkpoint):
    def drawn(seed):
        return responder(checkpoint, strategy="sample", num_return=3, seed=seed).respond(CONTEXTS)

    assert drawn(1) == drawn(1) != drawn(2)


def test_texts_are_parsed_once_and_only_the_last_turns(checkpoint):
    stub = Stub()
    responder(checkpoint, parser=stub).respond(CONTEXTS)
    assert len(stub.seen) == len(set(stub.seen))
    assert "cid" not in stub.seen  # the fifth turn from the end
    assert set(stub.seen) == {turn for context in CONTEXTS for turn in context[-3:]}


def test_parses_are_kept_in_a_file(checkpoint, tmp_path):
    stubs = Stub(), Stub()
    for stub in stubs:
        responder(checkpoint, parser=stub, cache=tmp_path / "parses.sqlite").respond(CONTEXTS)
    assert stubs[0].seen
    assert not stubs[1].seen


def test_decoding_is_the_checkpoint_s_unless_given(checkpoint, tmp_path):
    assert responder(checkpoint).decoding == DecodeConfig(max_length=6)
    beam = DecodeConfig(strategy="beam", beams=4, max_length=6, num_return=2)
    assert responder(checkpoint, strategy="beam", num_return=2).decoding == beam
    trained = save(tmp_path, strategy="beam", beams=3, length_penalty=0.5, seed=7)
    own = DecodeConfig(strategy="beam", beams=3, length_penalty=0.5, max_length=6, seed=7)
    assert responder(trained).decoding == own
    assert responder(trained, beams=2, allow_unk=True).decoding == dataclasses.replace(
        own, beams=2, allow_unk=True
    )
    assert responder(trained, strategy="greedy").decoding == dataclasses.replace(
        own, strategy="greedy", beams=1
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "'strategy' must be one of greedy, beam, sample"),
        ({"beams": 3}, "strategy='greedy' gives one response: 'beams' must be 1 .got 3"),
        ({"num_return": 2}, "'num_return' must be 1 .got 2"),
        ({"strategy": "beam", "beams": 2, "num_return": 3}, "'num_return' must be between 1 and 2"),
        ({"beams": "3"}, "'beams' takes a whole number"),
        ({"top_p": 0.0}, "'top_p' must be above 0"),
        ({"hidden_channels": 8}, "unknown argument 'hidden_channels'; those of decoding are strategy, beams"),
        ({"batch_size": 0}, r"'batch_size' must be a whole number of at least 1 \(got 0\)"),
        ({"batch_size": True}, r"'batch_size' must be a whole number of at least 1 \(got True\)"),
        ({"parser": "none"}, "unknown parser 'none'"),
    ],
)
def test_wrong_options(checkpoint, options, message):
    with pytest.raises(ValueError, match=message):
        responder(checkpoint, **options)


@pytest.mark.parametrize(
    ("contexts", "error", "message"),
    [
        ("a text", TypeError, r"'contexts' must be a list \(got str 'a text'\)"),
        (["a text"], TypeError, r"'contexts\[0\]' must be a list \(got str 'a text'\)"),
        (None, TypeError, "'contexts' must be a list"),
        ([["a"], None], TypeError, r"'contexts\[1\]' must be a list \(got NoneType None\)"),
        ([["a"], ["a", 3]], TypeError, r"'contexts\[1\]\[1\]' must be a string \(got int 3\)"),
        ([["a"], []], ValueError, r"'contexts\[1\]' is empty: a context has at least one turn"),
        ([["a", ""]], ValueError, r"'contexts\[0\]\[1\]' is blank: a turn has at least one word"),
        ([["a"], [" \n\t", *"abcdef"]], ValueError, r"'contexts\[1\]\[0\]' is blank"),
        ([["a \ud83d"]], ValueError, r"'contexts\[0\]\[0\]' has half a character \(got str 'a \\ud83d'\)"),
    ],
)
def test_what_is_no_context(checkpoint, contexts, error, message):
    with pytest.raises(error, match=message):
        responder(checkpoint).respond(contexts)


def test_what_is_odd_gets_a_response(checkpoint):
    model = responder(checkpoint)
    odd = ["😀", "我 喜欢 茶", "مرحبا بك", "\x00", "the " * 2000, "\u200b"]
    many = [f"ann saw {number}" for number in range(1000)]
    responses = model.respond([[turn] for turn in odd] + [odd, many])
    assert all(len(texts) == 1 for texts in responses)
    assert responses[-1] == model.respond([many[-3:]])[0]
    assert model.respond([]) == []
    assert model.parser_failures == 0
    model.respond([["the " * 2000], ["\u200b"], ["the"]])
    assert model.parser_failures == 2


def test_nothing_said_is_an_empty_text(tmp_path):
    def silence(model):
        model.decoder.output.bias[4] = 1e4

    path = save(tmp_path, change=silence)
    assert responder(path).respond(CONTEXTS) == [[""]] * len(CONTEXTS)


def test_text_is_as_people_write_it(tmp_path):
    def talk(model):
        model.decoder.output.bias[5] = 1e4

    path = save(tmp_path, change=talk, max_length=2)
    assert responder(path).respond([["ann"]]) == [["Ann ann"]]
    path = save(tmp_path, change=talk, max_length=2, lower=False, vocab=Vocab(WORDS))
    assert responder(path).respond([["ann"]]) == [["ann ann"]]


def test_only_the_bundled_parser_is_taken_from_a_checkpoint(tmp_path):
    for name in (f"conllu:{tmp_path / 'x'}", "stanza:../../etc", "spacy:model", "corenlp"):
        with pytest.raises(ValueError, match=f"trained with the parser '{name}'; only 'bundled' is taken"):
            Responder(save(tmp_path, parser=name))
        assert Responder(save(tmp_path, parser=name), parser=Stub(), device="cpu").respond([["ann"]])
    assert Responder(save(tmp_path, parser="bundled")).parser.fingerprint.startswith("bundled")


def test_each_kind_of_checkpoint_names_its_place(checkpoint, tmp_path):
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
    state = RunState(TrainConfig.of("dt", task="sick-e", **sizes), Vocab(WORDS), RelationVocab(), {})
    path = tmp_path / "sick.ckpt"
    torch.save({"graphdep": state.state_dict(), "state_dict": state.build_task().state_dict()}, path)
    with pytest.raises(ValueError, match="sick.ckpt: trained on the task 'sick-e', which gives no responses"):
        Responder(path)
    message = "transformer-dra.ckpt: trained on the task 'dailydialog', which gives no sentence vectors"
    with pytest.raises(ValueError, match=message):
        SentenceEncoder(checkpoint, parser=Stub()).encode(["ann"])


def test_files_that_are_no_checkpoint(checkpoint, tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        Responder(tmp_path / "none.ckpt")
    (tmp_path / "cut.ckpt").write_bytes(checkpoint.read_bytes()[:5000])
    with pytest.raises(ValueError, match="cut.ckpt: not a checkpoint, or damaged"):
        Responder(tmp_path / "cut.ckpt")
    nan = save(tmp_path, change=lambda model: model.decoder.output.bias.fill_(torch.nan))
    with pytest.raises(ValueError, match="has diverged in training: its weights are not finite"):
        Responder(nan, parser=Stub())


@pytest.mark.parametrize("progress", [True, False])
def test_progress_goes_to_stderr_when_asked(checkpoint, capfd, progress):
    responder(checkpoint, progress=progress).respond(CONTEXTS)
    out, err = capfd.readouterr()
    assert out == ""
    assert ("responding" in err) == progress


def test_a_longer_turn_is_refused_before_anything_is_parsed_or_cut(checkpoint):
    contexts = [["ann saw bob"], ["bob", "ann saw bob . bob met cid . ann"]]
    asked = responder(checkpoint, max_words=8)
    with pytest.raises(ValueError, match=r"'contexts\[1\]\[1\]' has more than max_words=8 words"):
        asked.respond(contexts)
    assert asked.parser.seen == []
    cut = responder(checkpoint, max_words=8, truncate=True)
    assert cut.respond(contexts) == responder(checkpoint).respond(contexts)  # it reads six words of a turn
    assert cut.parser.seen == ["ann saw bob", "bob", "ann saw bob . bob met cid ."]
    with pytest.raises(ValueError, match=r"'contexts\[0\]\[0\]' has more than max_words=10000 words"):
        responder(checkpoint).respond([["word " * 10_001]])
    with pytest.raises(ValueError, match="'max_words' must be at most 1000000"):
        responder(checkpoint, max_words=10**20)
