r"""Trains the parser that ships with graphdep anew, or one of another language, with stanza's code, on a CPU.

Five models: tokenizer, multi-word expander, lemmatizer (a dictionary), tagger, parser. The parser learns on
copies of the training set that the tagger has tagged with its dropout left on, so that it gets used to wrong
tags. With --glove, word vectors are built into tagger and parser as frozen dimensions. The budget is spent
as 10 % tokenizer, 35 % tagger, 45 % parser; the shipped set took about 75 minutes on two cores.

Without further options the language is English, the treebank UD English EWT. Several treebanks of a language
can be joined. The first is developed on, and its test split is never trained on; where it has no training
split, every fifth sentence of its dev split is developed on and the others are trained on. Of each further
treebank the training split is used, or all there is where it has none. XPOS is left out unless every
treebank has it. Nothing is converted: scripts and kinds of text are mixed as they are. A language without
multi-word tokens gets no expander, so that four files come out.

Example:
    python examples/research/train_bundled_parser.py --raw-from UD_English-EWT --output DIR \
        --glove glove.6B.50d.txt
    python examples/research/train_bundled_parser.py --language zh --shorthand zh_joined --output DIR \
        --raw-from UD_Chinese-GSDSimp UD_Chinese-HK UD_Chinese-CFL UD_Chinese-Beginner
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
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

from graphdep.io.files import write_checksums

# Sizes for a CPU. --share_hid: stanza's bilinear heads take three quarters of the time of a step.
TOKENIZER = """--lang {language} --max_seqlen 300 --txt_file data/tokenize/{name}.train.txt
    --label_file data/tokenize/{name}-ud-train.toklabels --dev_txt_file data/tokenize/{name}.dev.txt
    --dev_label_file data/tokenize/{name}-ud-dev.toklabels
    --mwt_json_file data/tokenize/{name}-ud-dev-mwt.json --dev_conll_gold data/tokenize/{name}.dev.gold.conllu
    --feat_funcs space_before,capitalized,numeric"""
TOKENIZER += ",end_of_para,start_of_para,labeled_field,phone_id,date_pattern,currency"
EXPANDER = """--lang {language} --hidden_dim 50 --force_exact_pieces --num_epoch 5
    --train_file data/mwt/{name}.train.in.conllu --eval_file data/mwt/{name}.dev.in.conllu
    --gold_file data/mwt/{name}.dev.gold.conllu"""
LEMMATIZER = """--dict_only --num_epoch 1 --train_file data/pos/{name}.train.in.conllu
    --eval_file data/pos/{name}.dev.in.conllu"""
COMMON = "--mode train --lang {language} --shorthand {name} --no_pretrain --cpu --dropout 0.33 --lr 0.003"
TAGGER = """--share_hid --word_cutoff 2 --word_emb_dim 150 --char_emb_dim 60 --char_hidden_dim 150
    --hidden_dim 200 --deep_biaff_hidden_dim 200 --word_dropout 0.2 --batch_size 50"""
PARSER = """--word_cutoff 3 --word_emb_dim 90 --char_emb_dim 40 --char_hidden_dim 100 --hidden_dim 192
    --num_layers 2 --deep_biaff_hidden_dim 100 --transformed_dim 90 --tag_emb_dim 50 --no_ufeats
    --word_dropout 0.15 --no_linearization --no_distance --optim adam --beta2 0.95 --weight_decay 0
    --batch_size 1000"""
GOLD_SHARE, GLOVE_DIMENSIONS, UNK = 0.1, 50, 1


@dataclass(frozen=True)
class Job:
    """What is trained and where; ``name`` is stanza's shorthand, ``en_ewt`` for UD English EWT."""

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


def sentences(treebank: Path, split: str, limit: int | None) -> list[str]:
    source = next(iter(sorted(treebank.glob(f"*-ud-{split}*.conllu"))), None)
    return [] if source is None else source.read_text(encoding="utf-8").strip().split("\n\n")[:limit]


def splits(treebanks: Sequence[Path], limit: int | None) -> dict[str, list[str]]:
    """The sentences of train, dev and test, as the text above says."""
    first, *others = treebanks
    train, dev, test = (sentences(first, split, limit) for split in ("train", "dev", "test"))
    if not dev or not test:
        raise SystemExit(f"no *-ud-{'test' if dev else 'dev'}.conllu in {first}")
    if not train:
        train, dev = [s for i, s in enumerate(dev) if i % 5], dev[::5]
    parts = [train]
    for other in others:
        everything = (sentences(other, split, limit) for split in ("dev", "test"))
        parts.append(sentences(other, "train", limit) or [s for split in everything for s in split])
        if not parts[-1]:
            raise SystemExit(f"no *-ud-*.conllu in {other}")
    result = {"train": [sentence for part in parts for sentence in part], "dev": dev, "test": test}
    if not all(any(map(has_xpos, part)) for part in parts):
        result = {split: list(map(without_xpos, blocks)) for split, blocks in result.items()}
    return result


def rows(sentence: str) -> list[list[str]]:
    return [line.split("\t") for line in sentence.split("\n")]


def has_xpos(sentence: str) -> bool:
    return any(len(row) == 10 and row[4] != "_" for row in rows(sentence))


def without_xpos(sentence: str) -> str:
    return "\n".join(
        "\t".join([*row[:4], "_", *row[5:]] if len(row) == 10 else row) for row in rows(sentence)
    )


def environment() -> dict[str, str]:
    return {**os.environ, "DATA_ROOT": "data", "UDBASE": "."}


def prepare(job: Job, treebanks: Sequence[Path], limit: int | None) -> bool:
    """Writes the files that stanza trains on; whether there are multi-word tokens."""
    treebank = job.work / canonical_treebank_name(job.name)
    treebank.mkdir(parents=True, exist_ok=True)
    for split, blocks in splits(treebanks, limit).items():
        print(f"{split}: {len(blocks)} sentences", flush=True)
        text = "\n\n".join(blocks) + "\n\n"
        (treebank / f"{job.name}-ud-{split}.conllu").write_text(text, encoding="utf-8")
    stanza_prepares(job, "tokenizer", treebank.name)
    expansions = job.work / "data" / "tokenize" / f"{job.name}-ud-train-mwt.json"
    multiword = bool(json.loads(expansions.read_text(encoding="utf-8")))
    for step in ("mwt", "pos") if multiword else ("pos",):
        stanza_prepares(job, step, treebank.name)
    return multiword


def stanza_prepares(job: Job, step: str, treebank: str) -> None:
    module = f"stanza.utils.datasets.prepare_{step}_treebank"
    subprocess.run([sys.executable, "-m", module, treebank], env=environment(), cwd=job.work, check=True)


def run(job: Job, module: str, options: str, kind: str, minutes: float | None = None) -> None:
    where = ["--shorthand", job.name, "--cpu", "--save_dir", ".", "--save_name", job.model(kind).name]
    command = [
        sys.executable,
        "-m",
        f"stanza.models.{module}",
        "--mode",
        "train",
        *job.options(options),
        *where,
    ]
    try:
        subprocess.run(command, env=environment(), cwd=job.work, check=True, timeout=minutes and 60 * minutes)
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


def train_tagger(job: Job, vectors: dict[str, torch.Tensor], minutes: float) -> None:
    args = tagger.parse_args(job.options(f"{COMMON} {TAGGER}"))
    data = TaggerData(read(job.trees("train")), args, None)
    learned = add_words(data.vocab["word"], vectors)
    trainer = TaggerTrainer(args=args, vocab=data.vocab, device="cpu", foundation_cache=FoundationCache())
    freeze_glove(trainer.model.word_emb.weight, data.vocab["word"], vectors)
    batches = ShuffledDataset([data], args["batch_size"])
    lemmatizer = Lemmatizer(model_file=str(job.model("lemmatizer")), device="cpu")
    gold = [word.upos for sentence in read(job.trees("dev")).sentences for word in sentence.words]

    def score() -> float:
        document = tag(trainer, lemmatizer, read(job.trees("dev")))
        predicted = [word.upos for sentence in document.sentences for word in sentence.words]
        return 100 * sum(p == g for p, g in zip(predicted, gold)) / len(gold)

    fit(trainer, lambda: batches, score, minutes, learned, job.model("tagger"))


def tagged_copies(job: Job, copies: int) -> tuple[list[Document], Document]:
    """Training sets tagged with the tagger's dropout left on, and the dev set tagged without it."""
    cache = FoundationCache()
    trainer = TaggerTrainer(model_file=str(job.model("tagger")), device="cpu", foundation_cache=cache)
    lemmatizer = Lemmatizer(model_file=str(job.model("lemmatizer")), device="cpu")
    dev = tag(trainer, lemmatizer, read(job.trees("dev")))
    trainer.model.worddrop.dropprob = 0.01
    trainer.model.train()
    trainer.model.eval = lambda: trainer.model  # predict() would switch the dropout off
    return [tag(trainer, lemmatizer, read(job.trees("train"))) for _ in range(copies)], dev


def train_parser(job: Job, vectors: dict[str, torch.Tensor], minutes: float, copies: int) -> None:
    args = parser_options.parse_args(job.options(f"{COMMON} {PARSER}"))
    train, dev = tagged_copies(job, copies)
    gold = read(job.trees("train"))
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

    fit(trainer, epoch, score, minutes, learned, job.model("parser"))


def package(job: Job, output: Path) -> None:
    """Tagger and parser in half precision; no path of this machine, no optimiser."""
    output.mkdir(parents=True, exist_ok=True)
    for kind in ("tokenizer", "mwt", "lemmatizer", "tagger", "parser"):
        if not job.model(kind).is_file():
            continue  # no multi-word tokens
        checkpoint = torch.load(job.model(kind), map_location="cpu", weights_only=True)
        if kind in ("tagger", "parser"):
            checkpoint["model"] = halved(checkpoint["model"])
        config = checkpoint["config"].items()
        checkpoint["config"] = {k: v for k, v in config if not (isinstance(v, str) and "/" in v)}
        for key in ("optimizer_state_dict", "scheduler_state_dict"):
            checkpoint.pop(key, None)
        torch.save(checkpoint, output / job.model(kind).name, _use_new_zipfile_serialization=False)
    write_checksums(output, [path.name for path in output.glob(f"{job.name}_*.pt")])


def halved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: halved(item) for key, item in value.items()}
    return value.half() if torch.is_tensor(value) and value.is_floating_point() else value


def shorthand(language: str, given: str | None) -> str:
    """The shorthand, which must be one that stanza keeps as it is."""
    name = given or {"en": "en_ewt"}.get(language, f"{language}_ud")
    if not name.startswith(f"{language}_"):
        raise SystemExit(f"--shorthand must start with '{language}_' (got {name!r})")
    known = treebank_to_short_name(canonical_treebank_name(name))
    if known != name or name.endswith("_combined"):
        raise SystemExit(f"--shorthand {name!r} means another thing to stanza ({known!r}): take another name")
    return name


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--raw-from", type=Path, required=True, nargs="+", help="folders of treebanks")
    arguments.add_argument("--output", type=Path, required=True, help="where the model files go")
    arguments.add_argument("--language", default="en", help="stanza's code of the language (default: en)")
    arguments.add_argument("--shorthand", help="LANGUAGE_NAME, with which file names start (default: en_ewt)")
    arguments.add_argument("--glove", type=Path, help="text file of 50-dimensional GloVe vectors")
    arguments.add_argument("--budget-minutes", type=float, default=75, help="for all of it (default: 75)")
    arguments.add_argument("--copies", type=int, default=5, help="tagged training sets (default: 5)")
    arguments.add_argument("--limit", type=int, help="sentences of each split to use, for a try-out")
    args = arguments.parse_args()
    utils.set_random_seed(1)
    job = Job(args.output / "work", shorthand(args.language, args.shorthand))
    minutes, vectors = args.budget_minutes, read_glove(args.glove)
    shutil.rmtree(job.work, ignore_errors=True)
    multiword = prepare(job, args.raw_from, args.limit)
    tokenizer = TOKENIZER
    if uses_dictionary(job.language):
        tokenizer += " --use_dictionary"
    if job.language.startswith("zh"):
        tokenizer += " --skip_newline"  # stanza breaks its lines anywhere
    steps = "--steps 3000 --eval_steps 200" if args.limit is None else "--steps 100 --eval_steps 20"
    run(job, "tokenizer", f"{tokenizer} {steps}", "tokenizer", max(2.0, 0.1 * minutes))
    if multiword:
        run(job, "mwt_expander", EXPANDER, "mwt")
    run(job, "lemmatizer", LEMMATIZER, "lemmatizer")
    train_tagger(job, vectors, 0.35 * minutes)
    train_parser(job, vectors, 0.45 * minutes, args.copies)
    package(job, args.output)
    print(f"done: resolve_parser({f'bundled:{args.output}'!r})")


if __name__ == "__main__":
    main()
