"""``graphdep demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli.ablate import report
from graphdep.cli.output import print_json
from graphdep.io.limits import check_limit

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

TEXTS = ("I'd like to reserve a hotel room.", "The dog that the cat watched was chased by the horse")
MODELS = ("transformer", "dt-random", "dt")
DIALOGUE = "transformer-dra"
# Small enough for two cores and three minutes, large enough to learn who did what to whom.
SETTINGS: dict[str, Any] = {
    "hidden_channels": 64,
    "ff_channels": 64,
    "num_layers": 2,
    "heads": 4,
    "relation_dim": 16,
    "dropout": 0.0,
    "optimizer": "adam",
    "lr": 0.001,
    "max_epochs": 18,
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
    max_epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Epochs a run.")] = SETTINGS[
        "max_epochs"
    ],
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")
    ] = False,
) -> None:
    """See it all at work, in under three minutes on two cores and without any download.

    Parses sentences with the bundled parser, draws a tree with its attention edges, trains the
    Dependency-Transformer and its controls on small self-written sentence pairs in which who did what to
    whom decides the label, draws what the trained model attends to, lets a model of dialogues respond, and
    prints the table. The second time,
    finished runs are not repeated.
    """
    check_limit("seeds", seeds)
    import torch

    torch.set_num_threads(
        1
    )  # small matrices: more threads mostly wait for each other, above all on a busy machine
    console = Console(stderr=json)
    say = Steps(console)
    say("Parsing with the bundled parser")
    sentences = parse_texts(console)
    say("Drawing a tree and who may attend to whom")
    pictures = draw_trees(sentences[0], output)
    say(f"Training {', '.join(MODELS)} on {mini_root(output)}, {seeds} seeds each")
    from graphdep.training.table.ablation import ablate

    settings = {**SETTINGS, "max_epochs": max_epochs, "root": str(mini_root(output))}
    summary = ablate("sick-e", MODELS, range(seeds), output, settings=settings, command="graphdep demo")
    # The paper's numbers are of another corpus.
    summary |= {"paper": None, "title": "datasets/mini, in the format of SICK-E"}
    say("Drawing what the trained model attends to")
    pictures += draw_attention(summary, sentences[1], output)
    say(f"Training {DIALOGUE} on the dialogues there, and talking to it")
    talk(mini_root(output), output, max_epochs, console)
    say("The table")
    paths = report(summary, output, console)
    console.print(f"Pictures: {', '.join(map(str, pictures))}", soft_wrap=True, highlight=False)
    console.print("Next, with the real SICK: graphdep ablate --task sick-e --raw-from DIR", highlight=False)
    if json:
        print_json(summary | {"files": paths, "pictures": [str(path) for path in pictures]})


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

    parsed = [sentences[0] for sentences in resolve_parser("bundled").parse(TEXTS)]
    for sentence in parsed:
        governors = ["ROOT", *sentence.form]
        rows = zip(sentence.form, sentence.deprel, sentence.head)
        arcs = [f"{form} <-{label}- {governors[head]}" for form, label, head in rows]
        console.print("   ".join(arcs), highlight=False, markup=False)
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


def talk(root: Path, output: Path, max_epochs: int, console: Console) -> None:
    """Trains a model of dialogues, and shows what it says to the first ones of the test split."""
    from graphdep.tasks.dialogues.responses import read_responses, responses_name
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
            console.print(f"- {turn}", highlight=False, markup=False, soft_wrap=True)
        answer = f"  -> {line['response']}   (reference: {line['reference']})"
        console.print(answer, highlight=False, markup=False, soft_wrap=True)


def save(figures: dict[str, Any], output: Path) -> list[Path]:
    """Writes pictures, whole or not at all."""
    from graphdep.io import atomic_path

    for name, figure in figures.items():
        with atomic_path(output / name) as temporary:
            figure.savefig(temporary, dpi=130)
    return [output / name for name in figures]
