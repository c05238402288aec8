"""The family of tasks on dialogues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphdep.tasks.dialogues.settings import COLUMNS, PAPER, TASKS, DialogueConfig, responses_name
from graphdep.training.config import TrainConfig
from graphdep.training.family import Published, StructureRows, TaskFamily
from graphdep.training.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.dialogues.model import DialogueTask
    from graphdep.training.build import Parts
    from graphdep.training.family import SplitScores
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab


class DialogueFamily(TaskFamily):
    """Responses to dialogues."""

    name = "dialogue"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"dialogue": DialogueConfig}
    default_models = (
        "transformer",
        "transformer-utterance",
        "transformer-dra",
        "dialogbert",
        "dialogbert-dra",
    )
    structure = (
        StructureRows(
            "transformer",
            "transformer-dra",
            "transformer-dra@random",
            "transformer@shuffled",
            "transformer-nopos",
        ),
    )
    unit_name = "dialogues"
    gives = "responses"
    used_by = "graphdep.Responder and `graphdep generate`"
    published: ClassVar[Mapping[str, Published]] = PAPER
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    files = (responses_name("val"), responses_name("test"))

    def predictor(self, task: str) -> str | None:
        return "graphdep.tasks.dialogues.predict.Responder"

    def build(self, config: TrainConfig, parts: Parts) -> DialogueTask:
        from graphdep.tasks.dialogues.model import DialogueTask, build_dialogue_model
        from graphdep.training.build import make_optimizer

        sizes = parts.num_words, parts.num_relations, parts.vectors
        model = build_dialogue_model(cast(DialogueConfig, config), *sizes)
        return DialogueTask(
            model,
            self.edges(config),
            make_optimizer(config),
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        from graphdep.tasks.dialogues.model import unigram_floor

        return unigram_floor(splits, split)

    def compared(self, task: str) -> str:
        return "responses of the test split"

    def grouped(self, task: str) -> str:
        return "dialogues of the test split"

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        from graphdep.training.build import preset_edges
        from graphdep.transforms import EdgeConstructor, RewiredEdges
        from graphdep.transforms.carried import carried
        from graphdep.transforms.edge_set import CLIQUES

        edges, errors = preset_edges(config, name), cast(DialogueConfig, config).parse_errors
        if not errors:
            return [edges]
        if not isinstance(edges, EdgeConstructor) or CLIQUES in carried(edges):
            raise ValueError(f"'parse_errors' needs edges that are a plain set of pairs (got edges={name!r})")
        return [RewiredEdges(edges, errors, config.seed)]

    def reads(self, config: TrainConfig) -> frozenset[str]:
        from graphdep.training.build import ATTENTION
        from graphdep.transforms.edge_set import ROOT

        reads = ATTENTION[config.encoder].reads
        return reads | {ROOT} if config.encoder == "dialogbert" else reads  # there ROOT is its utterance

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """The last turns of a context, as far as the model reads them."""
        from graphdep.data import join_utterances, utterance_data
        from graphdep.parsing.parser import parse_joined
        from graphdep.sentence.sentence import truncate

        config = cast(DialogueConfig, config)
        trees, _ = parse_joined(parser, texts[-config.max_turns :], roots=config.roots)
        trees = [truncate(tree, config.max_words) for tree in trees]
        return join_utterances([utterance_data(tree, vocab, relations) for tree in trees]), trees

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """What the model responds with, decoded as in its settings, and what of the context it looks at."""
        from graphdep.tasks.dialogues.model import looked_at
        from graphdep.visualization.side import Answer
        from graphdep.vocab.vocab import detokenize

        config = cast(DialogueConfig, state.config)
        [found] = cast("DialogueTask", task).model.generate(batch, config.decoding())
        texts = [detokenize(state.vocab.words_of(one.ids), truecase=config.lower) for one in found]
        said = Answer("texts", "response", tuple((text or "(nothing)", None) for text in texts))
        return [said, *looked_at(cast("DialogueTask", task).model, state, batch, trees, found[0])]

    def extra_scores(
        self, task: LearningTask, splits: Splits, split: str, config: TrainConfig, folder: Path | None = None
    ) -> SplitScores:
        from graphdep.tasks.dialogues.model import score_responses

        return score_responses(
            cast("DialogueTask", task), splits, split, cast(DialogueConfig, config), folder
        )
