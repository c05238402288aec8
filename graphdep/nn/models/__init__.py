"""Encoders, heads and the models of the papers."""

from graphdep.nn.models.baselines.constituent_trees import (
    RNTN,
    BinaryTreeLSTM,
    BiTreeLSTM,
    ConstituentEncoder,
)
from graphdep.nn.models.baselines.deep_matching import IOI, DeepAttentionMatching
from graphdep.nn.models.baselines.dependency_trees import DependencyTreeRNN, TreeLSTM
from graphdep.nn.models.baselines.dialogue import (
    DialogBERT,
    HRANDecoder,
    HRANEncoder,
    HREDDecoder,
    HREDEncoder,
    ReCoSa,
)
from graphdep.nn.models.baselines.matching import DUA, SMN, MatchingModel
from graphdep.nn.models.baselines.meta_trees import DCTreeLSTM, TagHyperTreeLSTM
from graphdep.nn.models.baselines.recurrent import GRUEncoder, LSTMEncoder
from graphdep.nn.models.baselines.tree_transformer import (
    ConstituencyTreeTransformer,
    DependencyTreeTransformer,
    TreeTransformer,
    UniversalEncoder,
)
from graphdep.nn.models.dialogue import (
    ContextTransformer,
    DialogueModel,
    ResponseDecoder,
    TransformerDecoder,
    WordOutput,
)
from graphdep.nn.models.embedding import NodeEmbedding, RelationEmbedding
from graphdep.nn.models.heads import (
    ClassificationHead,
    LinearChainCRF,
    RelatednessHead,
    SentenceModel,
    SentencePairModel,
    SpanModel,
    SpanReadout,
    SyntacticScaffold,
    TokenModel,
)
from graphdep.nn.models.selection import (
    SIA,
    MaskedWordHead,
    PostTrainingModel,
    SelectionModel,
    SpeakerSelectionModel,
    StructuralDialogueModel,
    UtteranceManipulationModel,
)
from graphdep.nn.models.transformer import (
    ConstituentTransformer,
    ContextEncoder,
    DependencyTransformer,
    FrozenEncoder,
    GraphTransformer,
    Memory,
    TextEncoder,
    TransformerLayer,
    WordAverage,
)

__all__ = [
    "DUA",
    "IOI",
    "RNTN",
    "SIA",
    "SMN",
    "BiTreeLSTM",
    "BinaryTreeLSTM",
    "ClassificationHead",
    "ConstituencyTreeTransformer",
    "ConstituentEncoder",
    "ConstituentTransformer",
    "ContextEncoder",
    "ContextTransformer",
    "DCTreeLSTM",
    "DeepAttentionMatching",
    "DependencyTransformer",
    "DependencyTreeRNN",
    "DependencyTreeTransformer",
    "DialogBERT",
    "DialogueModel",
    "FrozenEncoder",
    "GRUEncoder",
    "GraphTransformer",
    "HRANDecoder",
    "HRANEncoder",
    "HREDDecoder",
    "HREDEncoder",
    "LSTMEncoder",
    "LinearChainCRF",
    "SyntacticScaffold",
    "MaskedWordHead",
    "MatchingModel",
    "Memory",
    "NodeEmbedding",
    "PostTrainingModel",
    "ReCoSa",
    "RelatednessHead",
    "RelationEmbedding",
    "ResponseDecoder",
    "SelectionModel",
    "SentenceModel",
    "SentencePairModel",
    "SpanModel",
    "SpanReadout",
    "SpeakerSelectionModel",
    "StructuralDialogueModel",
    "TagHyperTreeLSTM",
    "TextEncoder",
    "TokenModel",
    "TransformerDecoder",
    "TransformerLayer",
    "TreeLSTM",
    "TreeTransformer",
    "UniversalEncoder",
    "UtteranceManipulationModel",
    "WordAverage",
    "WordOutput",
]
