"""Trains the parser that ships with graphdep anew, from UD English EWT and stanza's own code, on a CPU.

Five models: tokenizer, multi-word expander, lemmatizer (a dictionary), tagger, parser. The parser learns on
copies of the training set that the tagger has tagged with its dropout left on, so that it gets used to wrong
tags. With --glove, word vectors are built into tagger and parser as frozen dimensions. The budget is spent
as 10 % tokenizer, 35 % tagger, 45 % parser; the shipped set took about 75 minutes on two cores.

Example:
    python examples/train_bundled_parser.py --raw-from DIR --output DIR --glove glove.6B.50d.txt
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from stanza.models import parser as parser_options
from stanza.models import tagger
from stanza.models.common import utils
from stanza.models.common.doc import Document
from stanza.models.common.foundation_cache import FoundationCache
from stanza.models.depparse.data import DataLoader as ParserLoader
from stanza.models.depparse.data import Dataset as ParserData
from stanza.models.depparse.trainer import GraphTrainer
from stanza.models.lemma.trainer import Trainer as Lemmatizer
from stanza.models.pos.data import Dataset as TaggerData
from stanza.models.pos.data import ShuffledDataset
from stanza.models.pos.trainer import Trainer as TaggerTrainer
from stanza.utils.conll import CoNLL

# Sizes for a CPU. --share_hid: stanza's bilinear heads take three quarters of the time of a step.
TOKENIZER = """--lang en --max_seqlen 300 --txt_file data/tokenize/en_ewt.train.txt
    --label_file data/tokenize/en_ewt-ud-train.toklabels --dev_txt_file data/tokenize/en_ewt.dev.txt
    --dev_label_file data/tokenize/en_ewt-ud-dev.toklabels
    --mwt_json_file data/tokenize/en_ewt-ud-dev-mwt.json --dev_conll_gold data/tokenize/en_ewt.dev.gold.conllu
    --feat_funcs space_before,capitalized,numeric"""
TOKENIZER += ",end_of_para,start_of_para,labeled_field,phone_id,date_pattern,currency"
EXPANDER = """--lang en --hidden_dim 50 --force_exact_pieces --num_epoch 5
    --train_file data/mwt/en_ewt.train.in.conllu --eval_file data/mwt/en_ewt.dev.in.conllu
    --gold_file data/mwt/en_ewt.dev.gold.conllu"""
LEMMATIZER = """--dict_only --num_epoch 1 --train_file data/pos/en_ewt.train.in.conllu
    --eval_file data/pos/en_ewt.dev.in.conllu"""
COMMON = "--mode train --lang en --shorthand en_ewt --no_pretrain --cpu --dropout 0.33 --lr 0.003"
TAGGER = """--share_hid --word_cutoff 2 --word_emb_dim 150 --char_emb_dim 60 --char_hidden_dim 150
    --hidden_dim 200 --deep_biaff_hidden_dim 200 --word_dropout 0.2 --batch_size 50"""
PARSER = """--word_cutoff 3 --word_emb_dim 90 --char_emb_dim 40 --char_hidden_dim 100 --hidden_dim 192
    --num_layers 2 --deep_biaff_hidden_dim 100 --transformed_dim 90 --tag_emb_dim 50 --no_ufeats
    --word_dropout 0.15 --no_linearization --no_distance --optim adam --beta2 0.95 --weight_decay 0
    --batch_size 1000"""
GOLD_SHARE, GLOVE_DIMENSIONS, UNK = 0.1, 50, 1


def prepare(raw: Path, work: Path, limit: int | None) -> None:
    treebank = work / "UD_English-EWT"
    treebank.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        source = next(iter(sorted(raw.glob(f"*-ud-{split}*.conllu"))), None)
        if source is None:
            raise SystemExit(f"no *-ud-{split}.conllu in {raw}")
        blocks = source.read_text(encoding="utf-8").strip().split("\n\n")[:limit]
        (treebank / f"en_ewt-ud-{split}.conllu").write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    environment = {**os.environ, "DATA_ROOT": "data", "UDBASE": "."}
    for step in ("tokenizer", "mwt", "pos"):
        module = f"stanza.utils.datasets.prepare_{step}_treebank"
        subprocess.run([sys.executable, "-m", module, treebank.name], env=environment, cwd=work, check=True)


def run(work: Path, module: str, options: str, file: str, minutes: float | None = None) -> None:
    where = ["--shorthand", "en_ewt", "--cpu", "--save_dir", ".", "--save_name", file]
    command = [sys.executable, "-m", f"stanza.models.{module}", "--mode", "train", *options.split(), *where]
    try:
        subprocess.run(command, cwd=work, check=True, timeout=minutes and 60 * minutes)
    except subprocess.TimeoutExpired:
        print(f"{module}: time is up, the best so far is kept", flush=True)


def read(path: Path) -> Document:
    return CoNLL.conll2doc(str(path))


def read_glove(path: Path | None) -> dict[str, torch.Tensor]:
    if path is None:
        return {}
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").split("\n")]
    vectors = {w: torch.tensor([float(x) for x in v]) for w, *v in rows if len(v) == GLOVE_DIMENSIONS}
    if not vectors:
        raise SystemExit(f"{path} has no vectors of {GLOVE_DIMENSIONS} dimensions")
    scale = torch.stack(list(vectors.values())).std()
    return {word: vector / scale for word, vector in vectors.items()}


def add_words(vocab: Any, vectors: dict[str, torch.Tensor]) -> int:
    learned = len(vocab)
    for word in vectors:
        if word not in vocab._unit2id:
            vocab._unit2id[word] = len(vocab._id2unit)
            vocab._id2unit.append(word)
    return learned


def freeze_glove(weight: torch.Tensor, vocab: Any, vectors: dict[str, torch.Tensor]) -> None:
    """The last dimensions hold the vectors and stay as they are; zero for words without one."""
    if not vectors:
        return
    with torch.no_grad():
        weight[:, -GLOVE_DIMENSIONS:] = 0
        for word, vector in vectors.items():
            weight[vocab._unit2id[word], -GLOVE_DIMENSIONS:] = vector
    mask = torch.ones(weight.shape[1])
    mask[-GLOVE_DIMENSIONS:] = 0
    weight.register_hook(lambda gradient: gradient * mask)


def fit(trainer: Any, epoch: Callable[[], Iterable[Any]], score: Callable[[], float], minutes: float,
        learned: int, path: Path) -> None:  # fmt: skip
    """Steps with a learning rate that falls to nought with the time; keeps the best on dev."""
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
                tie_unknown(trainer.model.word_emb.weight, learned)
                value = score()
                print(
                    f"{path.name}: step {step}, {100 * spent:.0f} % of its time, dev {value:.2f}", flush=True
                )
                if value > best:
                    best = value
                    trainer.save(str(path))
            if spent >= 1:
                break


def tie_unknown(weight: torch.Tensor, learned: int) -> None:
    """GloVe's words that the treebank lacks are unknown words but for their vector."""
    with torch.no_grad():
        weight[learned:, :-GLOVE_DIMENSIONS] = weight[UNK, :-GLOVE_DIMENSIONS]


def tag(trainer: TaggerTrainer, lemmatizer: Lemmatizer, document: Document) -> Document:
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


def train_tagger(work: Path, vectors: dict[str, torch.Tensor], minutes: float) -> None:
    pos = work / "data" / "pos"
    args = tagger.parse_args(f"{COMMON} {TAGGER}".split())
    data = TaggerData(read(pos / "en_ewt.train.in.conllu"), args, None)
    learned = add_words(data.vocab["word"], vectors)
    trainer = TaggerTrainer(args=args, vocab=data.vocab, device="cpu", foundation_cache=FoundationCache())
    freeze_glove(trainer.model.word_emb.weight, data.vocab["word"], vectors)
    batches = ShuffledDataset([data], args["batch_size"])
    lemmatizer = Lemmatizer(model_file=str(work / "en_ewt_lemmatizer.pt"), device="cpu")
    gold = [word.upos for sentence in read(pos / "en_ewt.dev.in.conllu").sentences for word in sentence.words]

    def score() -> float:
        document = tag(trainer, lemmatizer, read(pos / "en_ewt.dev.in.conllu"))
        predicted = [word.upos for sentence in document.sentences for word in sentence.words]
        return 100 * sum(p == g for p, g in zip(predicted, gold)) / len(gold)

    fit(trainer, lambda: batches, score, minutes, learned, work / "en_ewt_tagger.pt")


def tagged_copies(work: Path, copies: int) -> tuple[list[Document], Document]:
    """Training sets tagged with the tagger's dropout left on, and the dev set tagged without it."""
    pos = work / "data" / "pos"
    cache = FoundationCache()
    trainer = TaggerTrainer(model_file=str(work / "en_ewt_tagger.pt"), device="cpu", foundation_cache=cache)
    lemmatizer = Lemmatizer(model_file=str(work / "en_ewt_lemmatizer.pt"), device="cpu")
    dev = tag(trainer, lemmatizer, read(pos / "en_ewt.dev.in.conllu"))
    trainer.model.worddrop.dropprob = 0.01
    trainer.model.train()
    trainer.model.eval = lambda: trainer.model  # predict() would switch the dropout off
    return [tag(trainer, lemmatizer, read(pos / "en_ewt.train.in.conllu")) for _ in range(copies)], dev


def train_parser(work: Path, vectors: dict[str, torch.Tensor], minutes: float, copies: int) -> None:
    args = parser_options.parse_args(f"{COMMON} {PARSER}".split())
    train, dev = tagged_copies(work, copies)
    gold = read(work / "data" / "pos" / "en_ewt.train.in.conllu")
    vocab = ParserData(gold, args, None).vocab
    learned = add_words(vocab["word"], vectors)
    versions = [
        ParserData(document, args, None, vocab=vocab, evaluation=True).data for document in [gold, *train]
    ]
    loader = ParserLoader(gold, args["batch_size"], args, None, vocab=vocab)
    dev_loader = ParserLoader(dev, 3000, args, None, vocab=vocab, evaluation=True, sort_during_eval=True)
    trainer = GraphTrainer(args=args, vocab=vocab, device="cpu")
    trainer.optimizers = trainer.optimizer
    freeze_glove(trainer.model.word_emb.weight, vocab["word"], vectors)
    answers = [(word.head, word.deprel) for sentence in dev.sentences for word in sentence.words]

    def epoch() -> Iterable[Any]:
        pick = [0 if random.random() < GOLD_SHARE else random.randint(1, copies) for _ in versions[0]]
        loader.dataset.data = [versions[version][i] for i, version in enumerate(pick)]
        loader.reshuffle()
        return (loader[i] for i in range(len(loader)))

    def score() -> float:
        with torch.no_grad():
            predictions = [p for batch in dev_loader for p in trainer.predict(batch)]
        arcs = [tuple(arc) for p in utils.unsort(predictions, dev_loader.data_orig_idx) for arc in p]
        return 100 * sum(p == g for p, g in zip(arcs, answers)) / len(answers)

    fit(trainer, epoch, score, minutes, learned, work / "en_ewt_parser.pt")


def package(work: Path, output: Path) -> None:
    """Tagger and parser in half precision; no path of this machine, no optimiser."""
    output.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer", "mwt", "lemmatizer", "tagger", "parser"):
        checkpoint = torch.load(work / f"en_ewt_{name}.pt", map_location="cpu", weights_only=True)
        if name in ("tagger", "parser"):
            checkpoint["model"] = halved(checkpoint["model"])
        config = checkpoint["config"].items()
        checkpoint["config"] = {k: v for k, v in config if not (isinstance(v, str) and "/" in v)}
        for key in ("optimizer_state_dict", "scheduler_state_dict"):
            checkpoint.pop(key, None)
        torch.save(checkpoint, output / f"en_ewt_{name}.pt", _use_new_zipfile_serialization=False)


def halved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: halved(item) for key, item in value.items()}
    return value.half() if torch.is_tensor(value) and value.is_floating_point() else value


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--raw-from", type=Path, required=True, help="folder of UD_English-EWT")
    arguments.add_argument("--output", type=Path, required=True, help="where the five files go")
    arguments.add_argument("--glove", type=Path, help="text file of 50-dimensional GloVe vectors")
    arguments.add_argument("--budget-minutes", type=float, default=75, help="for all of it (default: 75)")
    arguments.add_argument("--copies", type=int, default=5, help="tagged training sets (default: 5)")
    arguments.add_argument("--limit", type=int, help="sentences of each split to use, for a try-out")
    args = arguments.parse_args()
    utils.set_random_seed(1)
    work, minutes, vectors = args.output / "work", args.budget_minutes, read_glove(args.glove)
    shutil.rmtree(work, ignore_errors=True)
    prepare(args.raw_from, work, args.limit)
    steps = "--steps 3000 --eval_steps 200" if args.limit is None else "--steps 100 --eval_steps 20"
    run(work, "tokenizer", f"{TOKENIZER} {steps}", "en_ewt_tokenizer.pt", max(2.0, 0.1 * minutes))
    run(work, "mwt_expander", EXPANDER, "en_ewt_mwt.pt")
    run(work, "lemmatizer", LEMMATIZER, "en_ewt_lemmatizer.pt")
    train_tagger(work, vectors, 0.35 * minutes)
    train_parser(work, vectors, 0.45 * minutes, args.copies)
    package(work, args.output)
    print(f"done: resolve_parser('bundled', directory={str(args.output)!r})")


if __name__ == "__main__":
    main()
