"""Trains a parser for :class:`BundledParser` on treebanks, with stanza's code, on a CPU.

There are five models: tokenizer, multi-word expander, lemmatizer (a dictionary), tagger and parser. The
parser is trained on copies of the training set that the tagger tagged with dropout, so that it tolerates
wrong tags. A language without multi-word tokens gets no expander.
"""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from stanza.models import parser as parser_options
from stanza.models import tagger
from stanza.models.common import utils
from stanza.models.common.constant import treebank_to_short_name
from stanza.models.common.doc import Document
from stanza.models.common.foundation_cache import FoundationCache
from stanza.models.common.short_name_to_treebank import canonical_treebank_name
from stanza.models.depparse.data import DataLoader as ParserLoader
from stanza.models.depparse.data import Dataset as ParserData
from stanza.models.depparse.trainer import GraphTrainer
from stanza.models.lemma.trainer import Trainer as Lemmatizer
from stanza.models.pos.data import Dataset as TaggerData
from stanza.models.pos.data import ShuffledDataset
from stanza.models.pos.trainer import Trainer as TaggerTrainer
from stanza.utils.conll import CoNLL
from stanza.utils.training.run_tokenizer import uses_dictionary

from graphdep.io.files import CHECKSUMS, atomic_path, check_folder, check_replaced, write_checksums
from graphdep.parsing.treebanks import read_splits

# Sizes for a CPU. Without --share_hid, stanza's bilinear heads take three quarters of a step.
_TOKENIZER = """--lang {language} --max_seqlen 300 --txt_file data/tokenize/{name}.train.txt
    --label_file data/tokenize/{name}-ud-train.toklabels --dev_txt_file data/tokenize/{name}.dev.txt
    --dev_label_file data/tokenize/{name}-ud-dev.toklabels
    --mwt_json_file data/tokenize/{name}-ud-dev-mwt.json --dev_conll_gold data/tokenize/{name}.dev.gold.conllu
    --feat_funcs space_before,capitalized,numeric"""
_TOKENIZER += ",end_of_para,start_of_para,labeled_field,phone_id,date_pattern,currency"
_EXPANDER = """--lang {language} --hidden_dim 50 --force_exact_pieces --num_epoch 5
    --train_file data/mwt/{name}.train.in.conllu --eval_file data/mwt/{name}.dev.in.conllu
    --gold_file data/mwt/{name}.dev.gold.conllu"""
_LEMMATIZER = """--dict_only --num_epoch 1 --train_file data/pos/{name}.train.in.conllu
    --eval_file data/pos/{name}.dev.in.conllu"""
_COMMON = "--mode train --lang {language} --shorthand {name} --no_pretrain --cpu --dropout 0.33 --lr 0.003"
_TAGGER = """--share_hid --word_cutoff 2 --word_emb_dim 150 --char_emb_dim 60 --char_hidden_dim 150
    --hidden_dim 200 --deep_biaff_hidden_dim 200 --word_dropout 0.2 --batch_size 50"""
_PARSER = """--word_cutoff 3 --word_emb_dim 90 --char_emb_dim 40 --char_hidden_dim 100 --hidden_dim 192
    --num_layers 2 --deep_biaff_hidden_dim 100 --transformed_dim 90 --tag_emb_dim 50 --no_ufeats
    --word_dropout 0.15 --no_linearization --no_distance --optim adam --beta2 0.95 --weight_decay 0
    --batch_size 1000"""
_GOLD_SHARE, _GLOVE_DIMENSIONS, _UNK = 0.1, 50, 1


@dataclass(frozen=True)
class _Job:
    """The folder of a training run, and stanza's shorthand for its treebank, such as ``en_ewt``."""

    work: Path
    name: str

    @property
    def language(self) -> str:
        return self.name.split("_")[0]

    def options(self, template: str) -> list[str]:
        return template.format(name=self.name, language=self.language).split()

    def model(self, kind: str) -> Path:
        return self.work / f"{self.name}_{kind}.pt"

    def trees(self, split: str) -> Path:
        return self.work / "data" / "pos" / f"{self.name}.{split}.in.conllu"


def _prepare(job: _Job, splits: Mapping[str, Sequence[str]]) -> bool:
    """Writes the files that stanza trains on; returns whether there are multi-word tokens."""
    treebank = job.work / canonical_treebank_name(job.name)
    treebank.mkdir(parents=True, exist_ok=True)
    for split, blocks in splits.items():
        _print(f"{split}: {len(blocks)} sentences")
        text = "\n\n".join(blocks) + "\n\n"
        (treebank / f"{job.name}-ud-{split}.conllu").write_text(text, encoding="utf-8")
    _prepare_step(job, "tokenizer", treebank.name)
    expansions = job.work / "data" / "tokenize" / f"{job.name}-ud-train-mwt.json"
    multiword = bool(json.loads(expansions.read_text(encoding="utf-8")))
    for step in ("mwt", "pos") if multiword else ("pos",):
        _prepare_step(job, step, treebank.name)
    return multiword


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _prepare_step(job: _Job, step: str, treebank: str) -> None:
    _run(job, f"stanza.utils.datasets.prepare_{step}_treebank", [treebank])


def _train_model(job: _Job, module: str, options: str, kind: str, minutes: float | None = None) -> None:
    where = ["--shorthand", job.name, "--cpu", "--save_dir", ".", "--save_name", job.model(kind).name]
    _print(f"{kind} ...")
    _run(job, f"stanza.models.{module}", ["--mode", "train", *job.options(options), *where], minutes)


def _run(job: _Job, module: str, arguments: Sequence[str], minutes: float | None = None) -> None:
    """Runs a module of stanza in the working folder; an error has the end of its output."""
    log = job.work / "log.txt"
    with log.open("wb") as out:
        try:
            subprocess.run(
                [sys.executable, "-m", module, *arguments],
                env={**os.environ, "DATA_ROOT": "data", "UDBASE": "."},
                cwd=job.work,
                check=True,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=minutes and 60 * minutes,
            )
        except subprocess.TimeoutExpired:
            _print(f"{module}: time is up, the best model so far is kept")
        except subprocess.CalledProcessError:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
            raise ValueError(f"{module} failed: {' / '.join(last)}") from None


def _read(path: Path) -> Document:
    return CoNLL.conll2doc(str(path))


def _read_glove(path: Path | None) -> dict[str, torch.Tensor]:
    if path is None:
        return {}
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").split("\n")]
    vectors = {w: torch.tensor([float(x) for x in v]) for w, *v in rows if len(v) == _GLOVE_DIMENSIONS}
    if not vectors:
        raise ValueError(f"{path} has no vectors of {_GLOVE_DIMENSIONS} dimensions")
    scale = torch.stack(list(vectors.values())).std()
    return {word: vector / scale for word, vector in vectors.items()}


def _add_words(vocab: Any, vectors: dict[str, torch.Tensor]) -> int:
    learned = len(vocab)
    for word in vectors:
        if word not in vocab._unit2id:
            vocab._unit2id[word] = len(vocab._id2unit)
            vocab._id2unit.append(word)
    return learned


def _freeze_glove(weight: torch.Tensor, vocab: Any, vectors: dict[str, torch.Tensor]) -> None:
    """Copies the vectors to the last dimensions, zero for words without one, and freezes these."""
    if not vectors:
        return
    with torch.no_grad():
        weight[:, -_GLOVE_DIMENSIONS:] = 0
        for word, vector in vectors.items():
            weight[vocab._unit2id[word], -_GLOVE_DIMENSIONS:] = vector
    mask = torch.ones(weight.shape[1])
    mask[-_GLOVE_DIMENSIONS:] = 0
    weight.register_hook(lambda gradient: gradient * mask)


def _fit(trainer: Any, epoch: Callable[[], Iterable[Any]], score: Callable[[], float], minutes: float,
        learned: int, path: Path) -> None:  # fmt: skip
    """Trains with a learning rate that decays to 1% over the time; keeps the best model on dev."""
    groups = [group for optimizer in trainer.optimizers.values() for group in optimizer.param_groups]
    start, best, step, checks, spent = time.monotonic(), -1.0, 0, 0, 0.0
    while spent < 1:
        for batch in epoch():
            spent = min(1.0, (time.monotonic() - start) / (60 * minutes))
            for group in groups:
                group["lr"] = trainer.args["lr"] * min(1, (step + 1) / 100) * (1 - 0.99 * spent)
            trainer.update(batch)
            step += 1
            if spent >= (checks + 1) / 8:
                checks = int(8 * spent)
                _tie_unknown(trainer.model.word_emb.weight, learned)
                value = score()
                _print(f"{path.name}: {100 * spent:.0f}% of its time, {step} steps, dev {value:.2f}")
                if value > best:
                    best = value
                    trainer.save(str(path))
            if spent >= 1:
                break


def _tie_unknown(weight: torch.Tensor, learned: int) -> None:
    """Treats GloVe's words that the treebank lacks as unknown words, apart from their vectors."""
    with torch.no_grad():
        weight[learned:, :-_GLOVE_DIMENSIONS] = weight[_UNK, :-_GLOVE_DIMENSIONS]


def _tag(trainer: TaggerTrainer, lemmatizer: Lemmatizer, document: Document) -> Document:
    data = TaggerData(
        document, trainer.args, None, vocab=trainer.vocab, evaluation=True, sort_during_eval=True
    )
    predictions, order = [], []
    for batch in data.to_loader(batch_size=200):
        predictions += trainer.predict(batch)
        order += batch.idx
    tagger.set_predictions(document, trainer, utils.unsort(predictions, order))
    words = [word for sentence in document.sentences for word in sentence.words]
    for word, lemma in zip(words, lemmatizer.predict_dict([[word.text, word.upos] for word in words])):
        word.lemma = lemma
    return document


def _train_tagger(job: _Job, vectors: dict[str, torch.Tensor], minutes: float) -> None:
    args = tagger.parse_args(job.options(f"{_COMMON} {_TAGGER}"))
    data = TaggerData(_read(job.trees("train")), args, None)
    learned = _add_words(data.vocab["word"], vectors)
    trainer = TaggerTrainer(args=args, vocab=data.vocab, device="cpu", foundation_cache=FoundationCache())
    _freeze_glove(trainer.model.word_emb.weight, data.vocab["word"], vectors)
    batches = ShuffledDataset([data], args["batch_size"])
    lemmatizer = Lemmatizer(model_file=str(job.model("lemmatizer")), device="cpu")
    gold = [word.upos for sentence in _read(job.trees("dev")).sentences for word in sentence.words]

    def score() -> float:
        document = _tag(trainer, lemmatizer, _read(job.trees("dev")))
        predicted = [word.upos for sentence in document.sentences for word in sentence.words]
        return 100 * sum(p == g for p, g in zip(predicted, gold)) / len(gold)

    _fit(trainer, lambda: batches, score, minutes, learned, job.model("tagger"))


def _tagged_copies(job: _Job, copies: int) -> tuple[list[Document], Document]:
    """Copies of the training set tagged with dropout, and the dev set tagged without it."""
    cache = FoundationCache()
    trainer = TaggerTrainer(model_file=str(job.model("tagger")), device="cpu", foundation_cache=cache)
    lemmatizer = Lemmatizer(model_file=str(job.model("lemmatizer")), device="cpu")
    dev = _tag(trainer, lemmatizer, _read(job.trees("dev")))
    trainer.model.worddrop.dropprob = 0.01
    trainer.model.train()
    trainer.model.eval = lambda: trainer.model  # predict() would switch the dropout off
    return [_tag(trainer, lemmatizer, _read(job.trees("train"))) for _ in range(copies)], dev


def _train_parser_model(job: _Job, vectors: dict[str, torch.Tensor], minutes: float, copies: int) -> None:
    args = parser_options.parse_args(job.options(f"{_COMMON} {_PARSER}"))
    train, dev = _tagged_copies(job, copies)
    gold = _read(job.trees("train"))
    vocab = ParserData(gold, args, None).vocab
    learned = _add_words(vocab["word"], vectors)
    versions = [
        ParserData(document, args, None, vocab=vocab, evaluation=True).data for document in [gold, *train]
    ]
    loader = ParserLoader(gold, args["batch_size"], args, None, vocab=vocab)
    dev_loader = ParserLoader(dev, 3000, args, None, vocab=vocab, evaluation=True, sort_during_eval=True)
    trainer = GraphTrainer(args=args, vocab=vocab, device="cpu")
    trainer.optimizers = trainer.optimizer
    _freeze_glove(trainer.model.word_emb.weight, vocab["word"], vectors)
    answers = [(word.head, word.deprel) for sentence in dev.sentences for word in sentence.words]

    def epoch() -> Iterable[Any]:
        pick = [0 if random.random() < _GOLD_SHARE else random.randint(1, copies) for _ in versions[0]]
        loader.dataset.data = [versions[version][i] for i, version in enumerate(pick)]
        loader.reshuffle()
        return (loader[i] for i in range(len(loader)))

    def score() -> float:
        with torch.no_grad():
            predictions = [p for batch in dev_loader for p in trainer.predict(batch)]
        arcs = [tuple(arc) for p in utils.unsort(predictions, dev_loader.data_orig_idx) for arc in p]
        return 100 * sum(p == g for p, g in zip(arcs, answers)) / len(answers)

    _fit(trainer, epoch, score, minutes, learned, job.model("parser"))


_KINDS = ("tokenizer", "mwt", "lemmatizer", "tagger", "parser")


def _package(job: _Job, output: Path) -> list[Path]:
    """Writes the models without paths and optimizers, tagger and parser in half precision."""
    written = []
    for kind in _KINDS:
        if not job.model(kind).is_file():
            if kind != "mwt":
                raise ValueError(f"the {kind} was not trained in time: give more minutes")
            (output / job.model(kind).name).unlink(missing_ok=True)  # the language has no multi-word tokens
            continue
        checkpoint = torch.load(job.model(kind), map_location="cpu", weights_only=True)
        if kind in ("tagger", "parser"):
            checkpoint["model"] = _halved(checkpoint["model"])
        config = checkpoint["config"].items()
        checkpoint["config"] = {k: v for k, v in config if not (isinstance(v, str) and "/" in v)}
        for key in ("optimizer_state_dict", "scheduler_state_dict"):
            checkpoint.pop(key, None)
        with atomic_path(output / job.model(kind).name) as path:
            torch.save(checkpoint, path, _use_new_zipfile_serialization=False)
        written.append(output / job.model(kind).name)
    write_checksums(output, [path.name for path in written])
    return written


def _halved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _halved(item) for key, item in value.items()}
    return value.half() if torch.is_tensor(value) and value.is_floating_point() else value


def check_name(language: str, name: str) -> None:
    """Raises :class:`ValueError` if stanza would name the files otherwise."""
    if not name.startswith(f"{language}_"):
        raise ValueError(f"'name' must start with '{language}_' (got {name!r})")
    known = treebank_to_short_name(canonical_treebank_name(name))
    if known != name or name.endswith("_combined"):
        raise ValueError(f"'name' {name!r} is another treebank in stanza ({known!r}): choose another name")


def train_parser(
    treebanks: Sequence[Path],
    output: Path,
    *,
    language: str = "en",
    name: str | None = None,
    glove: Path | None = None,
    minutes: float = 75,
    copies: int = 5,
    limit: int | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Trains the five models, writes them with their ``SHA256SUMS``, and returns the files.

    Args:
        treebanks: Folders, as for :func:`~graphdep.parsing.treebanks.read_splits`.
        output: Folder for the files.
        language: Stanza's code of the language. (default: ``"en"``)
        name: Prefix of the file names, ``LANGUAGE_...``. (default: ``"en_ewt"``, for other languages
            ``LANGUAGE_ud``)
        glove: Word vectors of 50 dimensions, which become frozen dimensions of tagger and parser.
            (default: :obj:`None`)
        minutes: Total time: 10% for the tokenizer, 35% for the tagger, 45% for the parser.
            (default: :obj:`75`)
        copies: Number of tagged copies of the training set. (default: :obj:`5`)
        limit: Number of sentences per split, for a test; the tokenizer then takes few steps.
            (default: :obj:`None`)
        overwrite: Replace files of the same names. (default: :obj:`False`)

    Raises:
        ValueError: If the name is that of another treebank in stanza, a file would be replaced, a treebank
            lacks a split, the vectors have another size, or stanza fails.
        OSError: If a file cannot be read or written.
    """
    name = name or ("en_ewt" if language == "en" else f"{language}_ud")
    check_name(language, name)
    check_folder("output", output)
    check_replaced(output, [*(f"{name}_{kind}.pt" for kind in _KINDS), CHECKSUMS], overwrite=overwrite)
    vectors = _read_glove(glove)
    splits = read_splits(treebanks, limit)
    logging.getLogger("stanza").setLevel(logging.ERROR)
    utils.set_random_seed(1)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".training-", dir=output) as work:
        job = _Job(Path(work).absolute(), name)
        multiword = _prepare(job, splits)
        tokenizer = _TOKENIZER
        if uses_dictionary(job.language):
            tokenizer += " --use_dictionary"
        if job.language.startswith("zh"):
            tokenizer += " --skip_newline"  # stanza's lines end inside words
        steps = "--steps 3000 --eval_steps 200" if limit is None else "--steps 100 --eval_steps 20"
        _train_model(job, "tokenizer", f"{tokenizer} {steps}", "tokenizer", max(2.0, 0.1 * minutes))
        if multiword:
            _train_model(job, "mwt_expander", _EXPANDER, "mwt")
        _train_model(job, "lemmatizer", _LEMMATIZER, "lemmatizer")
        _train_tagger(job, vectors, 0.35 * minutes)
        _train_parser_model(job, vectors, 0.45 * minutes, copies)
        return _package(job, output)
