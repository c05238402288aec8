"""``graphdep demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.common import print_json
from graphdep.io.console import plain_console
from graphdep.io.files import check_replaced
from graphdep.io.limits import check_limit

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

PARSER = "bundled"
TEXTS = ("I'd like to reserve a hotel room.", "The dog that the cat watched was chased by the horse")
EXPLORED, VERBS = "the cook who called his riders found the poet .", ("called", "found")
AGREEMENT_MODELS = ("transformer", "dt-nolevel-nopos@chain", "dt-nolevel-nopos")
# The training structures are learned by all three, the others by the tree.
AGREEMENT_SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 128,
    "num_layers": 2,
    "dropout": 0.0,
    "min_freq": 1,
    "max_epochs": 5,
}
MODELS = ("transformer", "dt@random", "dt")
PICTURES = ("tree.png", "edges_dra.png", "edges_dt.png", "attention.png", "explorer.html")
DIALOGUE = "transformer-dra"
# Small enough for two cores and three minutes, large enough to learn who takes part; who did it to whom takes
# 10 to 20 epochs.
SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 64,
    "num_layers": 2,
    "heads": 4,
    "relation_dim": 16,
    "dropout": 0.0,
    "optimizer": "adam",
    "lr": 0.001,
    "max_epochs": 8,
    "patience": None,
}
# As small; the dialogues are short.
DIALOGUE_SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 128,
    "heads": 4,
    "num_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "lr": 0.003,
    "warmup_steps": 30,
    "min_freq": 1,
    "max_epochs": 6,
}


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures and results go.")] = Path(
        "runs/demo"
    ),
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Runs a model.")] = 2,
    max_epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Epochs a run, at most.")] = SETTINGS[
        "max_epochs"
    ],
    overwrite: o.Overwrite = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")
    ] = False,
) -> None:
    """See it all at work, in under three minutes on two cores and without any download.

    Parses sentences with the bundled parser, draws a tree with its attention edges, trains models on the
    number of verbs and tests them in structures that training lacks, trains the Dependency-Transformer and
    its controls on sentence pairs in which who did what to whom decides the label, draws what the trained
    model attends to, lets a model of dialogues respond, and prints the tables. All texts are self-written.
    The second time, finished runs are not repeated.
    """
    check_limit("seeds", seeds)
    mine = PICTURES if any(output.glob("agreement/agreement_*")) else ()
    check_replaced(output, PICTURES, mine, overwrite=overwrite)
    import torch

    torch.set_num_threads(
        1
    )  # small matrices: more threads mostly wait for each other, above all on a busy machine
    console = plain_console(stderr=json)
    say = Steps(console)
    say("Parsing with the bundled parser")
    sentences = parse_texts(console)
    say("Drawing a tree and who may attend to whom")
    pictures = draw_trees(sentences[0], output)
    root = mini_root(output)
    say(f"Agreement, {seeds} seeds: {', '.join(AGREEMENT_MODELS)}")
    agreement = train_agreement(root, output, seeds, max_epochs)
    say(f"Sentence pairs, {seeds} seeds: {', '.join(MODELS)}")
    pairs = train_pairs(root, output, seeds, max_epochs)
    say("Drawing what the trained model attends to")
    pictures += draw_attention(pairs, sentences[1], output)
    say(f"Training {DIALOGUE} on the dialogues there, and talking to it")
    talk(root, output, max_epochs, console)
    say("The tables")
    agreement["files"] = show(agreement, output / "agreement", console, overwrite)
    pairs["files"] = show(pairs, output, console, overwrite)
    console.print(f"Pictures: {', '.join(map(str, pictures))}", soft_wrap=True)
    page = explore_model(agreement, output)
    if page is not None:
        told = f"Open in a browser what the trained model does with a sentence: {page.resolve()}"
        console.print(told, soft_wrap=True)
    for what, task in (("PropBank's roles", "propbank-ewt"), ("SICK", "sick-e")):
        command = f"{program()} ablate --task {task} --raw-from DIR"
        console.print(f"Next, with {what}: {command}", soft_wrap=True)
    if json:
        print_json(
            pairs
            | {
                "agreement": agreement,
                "pictures": [str(path) for path in pictures],
                "page": page and str(page),
            }
        )


class Steps:
    """Numbers what is being done."""

    def __init__(self, console: Console) -> None:
        self.console, self.number = console, 0

    def __call__(self, text: str) -> None:
        self.number += 1
        self.console.rule(f"{self.number}. {text}", align="left")


def mini_root(output: Path) -> Path:
    """``datasets/mini`` of a clone, else a copy that is generated below ``output``."""
    from graphdep.datasets.mini.mini import write_mini

    clone = Path("datasets/mini")
    if (clone / "raw" / "SICK_train.txt").is_file():
        return clone
    write_mini(output / "mini")
    return output / "mini"


def parse_texts(console: Console) -> list[Sentence]:
    """Parses the demo's texts and shows the trees as text."""
    from graphdep.parsing import resolve_parser

    parsed = [sentences[0] for sentences in resolve_parser(PARSER).parse(TEXTS)]
    for sentence in parsed:
        governors = ["ROOT", *sentence.form]
        rows = zip(sentence.form, sentence.deprel, sentence.head)
        arcs = [f"{form} <-{label}- {governors[head]}" for form, label, head in rows]
        console.print("   ".join(arcs))
    return parsed


def draw_trees(sentence: Sentence, output: Path) -> list[Path]:
    """The tree with the edges of DRA, and the relation matrix of DT."""
    from graphdep.data import to_data
    from graphdep.transforms import resolve
    from graphdep.visualization import plot_edge_matrix, plot_tree
    from graphdep.vocab import RelationVocab

    data = to_data([sentence])
    labels = ["[ROOT]", *sentence.form]
    dra, dt = resolve("dra")(data), resolve("dt")(data)
    figures = {
        "tree.png": plot_tree(
            sentence, {"DRA": dra.edge_index}, title="A tree, and below it the edges of DRA"
        ),
        "edges_dra.png": plot_edge_matrix(dra, labels, title="DRA"),
        "edges_dt.png": plot_edge_matrix(
            dt, labels, relations=RelationVocab(), title="DT: relations of pairs"
        ),
    }
    return save(figures, output)


def train_agreement(root: Path, output: Path, seeds: int, max_epochs: int) -> dict[str, Any]:
    """Trains on sentences in which the last noun before a verb agrees with it as its subject does, and tests
    on those in which it does not; returns the summary, and under ``seen`` what can be seen in it.
    """
    from graphdep.training.ablation import ablate

    settings = {**AGREEMENT_SETTINGS, "root": str(root / "agreement")}
    settings["max_epochs"] = min(max_epochs, settings["max_epochs"])
    folder = output / "agreement"
    summary = ablate(
        "agreement", AGREEMENT_MODELS, range(seeds), folder, settings=settings, command="graphdep demo"
    )
    rows = [row for row in summary["rows"] if row["n"]]
    scores = [f"{row['name']} {row['metrics']['val_accuracy']['mean']:.2f}" for row in rows]
    seen = (
        "Singular or plural? In validation, as in training, the last noun before a verb has the number of "
        f"its subject (right: {', '.join(scores)}). In the test sentences of this table it never has: a "
        "model is right there if it goes by the subject, and the tree says which noun that is."
    )
    return summary | {"title": "datasets/mini/agreement, the number of verbs", "seen": seen}


def train_pairs(root: Path, output: Path, seeds: int, max_epochs: int) -> dict[str, Any]:
    """Trains on pairs of sentences; returns the summary, and under ``seen`` what can be seen in it."""
    from graphdep.training.ablation import ablate

    settings = {**SETTINGS, "max_epochs": max_epochs, "root": str(root)}
    summary = ablate("sick-e", MODELS, range(seeds), output, settings=settings, command="graphdep demo")
    seen = (
        "Who did what to whom? Three pairs at a time have the same words and different labels. In few epochs "
        "dt learns who takes part, which is right in two of three; who does it to whom needs more "
        "(--max-epochs 18)."
    )
    # The paper's numbers are of another corpus.
    return summary | {"paper": None, "title": "datasets/mini, in the format of SICK-E", "seen": seen}


def show(summary: dict[str, Any], folder: Path, console: Console, overwrite: bool) -> dict[str, str]:
    """Writes the files of a table, and prints it with what its rows are and what can be seen in it."""
    from graphdep.training.table import rich_table, write_report

    paths = write_report(summary, folder, overwrite=overwrite)
    console.print(rich_table(summary, console.width))
    lines = [f"- {row['label']}: {row['about']}" for row in summary["rows"]]
    failed = [(row["name"], *item) for row in summary["rows"] for item in row["failed"].items()]
    lines += [f"- FAILED {name} seed {seed}: {error}" for name, seed, error in failed]
    for line in [*lines, summary["seen"], f"More: {', '.join(paths.values())}", ""]:
        console.print(line, soft_wrap=True)
    return paths


def draw_attention(summary: dict[str, Any], sentence: Sentence, output: Path) -> list[Path]:
    """Attention heat maps of the first trained ``dt``."""
    from graphdep.data import to_data
    from graphdep.training import load_task
    from graphdep.visualization import attention_weights, plot_attention

    rows = {row["model"]: row for row in summary["rows"]}
    if not rows["dt"]["checkpoints"]:
        return []
    task, state = load_task(rows["dt"]["checkpoints"][0])
    # The model compares pairs: the sentence is paired with itself, and the first of the two is shown.
    pair = task.edges(to_data([sentence, sentence], vocab=state.vocab, relations=state.relations))
    pairs, alpha = attention_weights(task.model, pair)[-1]
    first = (pairs <= len(sentence)).all(dim=0)
    labels = ["[ROOT]", *sentence.form]
    title = "Attention of the trained Dependency-Transformer, last layer"
    figure = plot_attention(alpha[first], labels, edge_index=pairs[:, first], title=title)
    return save({"attention.png": figure}, output)


def explore_model(summary: dict[str, Any], output: Path) -> Path | None:
    """A page of what the trees have taught: the last model of the table beside the first, which has none."""
    from graphdep.visualization.attention import explore

    rows = [row["checkpoints"] for row in summary["rows"]]
    if not rows[0] or not rows[-1]:
        return None
    title = "Has a verb a singular or a plural subject? A model with the tree, and one without"
    options: dict[str, Any] = {"edges": ["dra"], "asked": VERBS, "parser": PARSER, "title": title}
    options["names"] = ("with the tree", "without")
    page = explore(rows[-1][0], EXPLORED, against=rows[0][0], **options)
    return page.save(output / "explorer.html")


def talk(root: Path, output: Path, max_epochs: int, console: Console) -> None:
    """Trains a model of dialogues, and shows what it says to the first ones of the test split."""
    from graphdep.tasks.dialogues.model import read_responses
    from graphdep.tasks.dialogues.settings import responses_name
    from graphdep.training import TrainConfig, load_splits, run_folder, train

    settings = DIALOGUE_SETTINGS | {"max_epochs": min(max_epochs, DIALOGUE_SETTINGS["max_epochs"])}
    config = TrainConfig.of(DIALOGUE, task="dailydialog", root=str(root), **settings)
    splits = load_splits(config)
    folder = run_folder(config, splits, output)
    result = train(config, folder, splits=splits, resume=True, console=console)
    score, floor = (result[kind]["test_perplexity"] for kind in ("metrics", "floor"))
    console.print(f"Perplexity on the test split {score:.2f}; of word counts alone {floor:.2f}")
    for line in read_responses(folder / responses_name("test"))[2:5]:
        for turn in line["context"]:
            console.print(f"- {turn}", soft_wrap=True)
        answer = f"  -> {line['response']}   (reference: {line['reference']})"
        console.print(answer, soft_wrap=True)


def save(figures: dict[str, Any], output: Path) -> list[Path]:
    """Writes pictures, whole or not at all."""
    from graphdep.io import atomic_path

    for name, figure in figures.items():
        with atomic_path(output / name) as temporary:
            figure.savefig(temporary, dpi=130)
    return [output / name for name in figures]


def program() -> str:
    """What starts this program in a shell: its name where that is on the path, else as it was started."""
    if shutil.which("graphdep"):
        return "graphdep"
    return sys.argv[0] if Path(sys.argv[0]).name == "graphdep" else f"{sys.executable} -m graphdep"
