"""Encoders, heads and the papers' models."""

from graphdep.nn.models.bi_tree_lstm import BiTreeLSTM
from graphdep.nn.models.binary_tree_lstm import BinaryTreeLSTM
from graphdep.nn.models.classification_head import ClassificationHead
from graphdep.nn.models.constituency_tree_transformer import ConstituencyTreeTransformer
from graphdep.nn.models.constituent_encoder import ConstituentEncoder
from graphdep.nn.models.constituent_transformer import ConstituentTransformer
from graphdep.nn.models.context_encoder import ContextEncoder
from graphdep.nn.models.context_transformer import ContextTransformer
from graphdep.nn.models.dc_tree_lstm import DCTreeLSTM
from graphdep.nn.models.deep_attention_matching import DeepAttentionMatching
from graphdep.nn.models.dependency_transformer import DependencyTransformer
from graphdep.nn.models.dependency_tree_rnn import DependencyTreeRNN
from graphdep.nn.models.dependency_tree_transformer import DependencyTreeTransformer
from graphdep.nn.models.dialog_bert import DialogBERT
from graphdep.nn.models.dialogue_model import DialogueModel
from graphdep.nn.models.dua import DUA
from graphdep.nn.models.frozen_encoder import FrozenEncoder
from graphdep.nn.models.graph_transformer import GraphTransformer
from graphdep.nn.models.gru_encoder import GRUEncoder
from graphdep.nn.models.hran_decoder import HRANDecoder
from graphdep.nn.models.hran_encoder import HRANEncoder
from graphdep.nn.models.hred_decoder import HREDDecoder
from graphdep.nn.models.hred_encoder import HREDEncoder
from graphdep.nn.models.ioi import IOI
from graphdep.nn.models.linear_chain_crf import LinearChainCRF
from graphdep.nn.models.lstm_encoder import LSTMEncoder
from graphdep.nn.models.masked_word_head import MaskedWordHead
from graphdep.nn.models.matching_model import MatchingModel
from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding
from graphdep.nn.models.post_training_model import PostTrainingModel
from graphdep.nn.models.recosa import ReCoSa
from graphdep.nn.models.relatedness_head import RelatednessHead
from graphdep.nn.models.relation_embedding import RelationEmbedding
from graphdep.nn.models.response_decoder import ResponseDecoder
from graphdep.nn.models.rntn import RNTN
from graphdep.nn.models.selection_model import SelectionModel
from graphdep.nn.models.sentence_model import SentenceModel
from graphdep.nn.models.sentence_pair_model import SentencePairModel
from graphdep.nn.models.sia import SIA
from graphdep.nn.models.smn import SMN
from graphdep.nn.models.span_model import SpanModel
from graphdep.nn.models.span_readout import SpanReadout
from graphdep.nn.models.speaker_selection_model import SpeakerSelectionModel
from graphdep.nn.models.structural_dialogue_model import StructuralDialogueModel
from graphdep.nn.models.tag_hyper_tree_lstm import TagHyperTreeLSTM
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.nn.models.token_model import TokenModel
from graphdep.nn.models.transformer_decoder import TransformerDecoder
from graphdep.nn.models.transformer_layer import TransformerLayer
from graphdep.nn.models.tree_lstm import TreeLSTM
from graphdep.nn.models.tree_transformer import TreeTransformer
from graphdep.nn.models.universal_encoder import UniversalEncoder
from graphdep.nn.models.utterance_manipulation_model import UtteranceManipulationModel
from graphdep.nn.models.word_average import WordAverage
from graphdep.nn.models.word_output import WordOutput

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
