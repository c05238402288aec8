"""Response selection, the order of utterances, and who does what to whom."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphdep.nn.models.selection_model import Loss, SelectionModel, selected_pairs
from graphdep.transforms.presets import count
from graphdep.vocab import RelationVocab

SUBJECTS = ("nsubj", "csubj", "expl")
OBJECTS = ("obj", "iobj")


class StructuralDialogueModel(SelectionModel):
    r"""A :class:`SelectionModel` that also restores the order of shuffled utterances and keeps subject, verb
    and object of a sentence together, from `"Structural Pre-training for Dialogue Comprehension"
    <https://arxiv.org/abs/2105.10956>`_ (SPIDER).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \lambda_1 \mathcal{L}_{\mathrm{order}}
        + \lambda_2 \mathcal{L}_{\mathrm{backbone}}

    .. math::
        \mathcal{L}_{\mathrm{order}} = \frac{1}{|U|} \sum_{u \in U}
        \mathrm{CE}(\mathbf{W} \mathbf{h}_{[\mathrm{EOU}]_u} + \mathbf{b}, o_u), \quad
        \mathcal{L}_{\mathrm{backbone}} = \frac{1}{|T|} \sum_{(s, v, o) \in T}
        1 - \cos(\mathbf{h}_s + \mathbf{h}_v, \mathbf{h}_o)

    :math:`U` are the utterances of a batch's shuffled contexts and :math:`o_u` the number that each had;
    :math:`T` are the triples in its pairs, in context and response, each word being its first piece. The
    weights are :class:`~graphdep.tasks.SelectionTask`'s.

    A triple is two arcs from one word: to a subject (nsubj, csubj, expl and their subtypes) and to an object
    (obj, iobj and theirs), in the tree that the edges are made of, controls included. The public code finds
    triples by rules over spaCy's trees, which also follow "and" and verbs below verbs (xcomp) and take the
    predicate of a copula for an object, and looks for their words in the text again, the first ones first;
    of these rules only the arcs are here. There only verbs count, with subjects to their left and objects to
    their right, a verb without a subject takes that of a verb above it, and a pair has ten triples at most;
    here any governor counts, wherever the two stand, and there is no limit.

    Examples have the layout of SIA's paper, and with ``readout="cls"`` pairs are scored by [CLS] as it is: in
    the public code the response stands before the context, and BERT's pooler reads [CLS]. It trains with
    examples of 384 nodes, a rate of 3e-5, batches of 64 and two epochs; the preset has the settings of
    BERT-FP's code (256, 1e-5, 32, two), as the rows that it is compared with.

    That the method is for a further pre-training as well, with masked words, is not built: go on from
    :class:`PostTrainingModel`'s encoder instead.

    Args:
        encoder: As of :class:`SelectionModel`.
        places: Utterances that can be told apart. (default: :obj:`20`)
        **options: As of :class:`SelectionModel`.

    Shapes:
        - data: as of :class:`SelectionModel`; output :math:`(B)`. Of :meth:`training_losses` a batch that
          also has ``kind`` :math:`(B)`, 0 of pairs, and ``order_target`` :math:`(|\mathcal{V}|)`, a number
          below :obj:`places` or -100; output the logits of the pairs alone, and both losses

    Raises:
        ValueError: As :class:`SelectionModel`, or if :obj:`places` is below 2 or no whole number.

    Example:
        >>> from graphdep.nn.models import StructuralDialogueModel
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> data = encoder.to_data([("Who sings ?", "She does ."), ("Who sings ?", "The bus is late .")])
        >>> StructuralDialogueModel(encoder)(data).shape
        torch.Size([2])
    """

    subjects: Tensor
    objects: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        *,
        places: int = 20,
        mlp_layers: int = 1,
        dropout: float = 0.1,
        readout: str = "cls",
    ) -> None:
        count("places", places, 2)
        super().__init__(encoder, mlp_layers=mlp_layers, dropout=dropout, readout=readout)
        size: int = encoder.hidden_channels  # type: ignore[assignment]
        self.order = nn.Linear(size, places)
        subjects, objects = _ids(SUBJECTS), _ids(OBJECTS)
        self.register_buffer("subjects", subjects, persistent=False)
        self.register_buffer("objects", objects, persistent=False)
        self._reset_order()

    def reset_parameters(self) -> None:
        """As of :class:`SelectionModel`, and what the order is told by."""
        super().reset_parameters()
        self._reset_order()

    def _reset_order(self) -> None:
        nn.init.normal_(self.order.weight, std=0.02)
        nn.init.zeros_(self.order.bias)

    def training_losses(self, data: Data) -> tuple[Tensor, dict[str, Loss]]:
        x = self.encoder(data)
        losses = {"order": self._order(data, x), "backbone": self._backbone(data, x)}
        return selected_pairs(data, self.score(data, x)), losses

    def _order(self, data: Data, x: Tensor) -> Loss:
        """The mean over utterances; zero where none is asked for, with gradients of zero."""
        asked = _asked(data)
        logits = self.order(x.index_select(0, asked)).float()
        loss = F.cross_entropy(logits, data.order_target[asked], reduction="sum")
        return loss / max(1, asked.numel()), asked.numel()

    def _backbone(self, data: Data, x: Tensor) -> Loss:
        """The mean over triples; zero where there is none."""
        subject, verb, other = self.triples(data)
        near = F.cosine_similarity((x[subject] + x[verb]).float(), x[other].float())
        return (1 - near).sum() / max(1, subject.numel()), subject.numel()

    @torch.compiler.disable  # reads values
    def triples(self, data: Data) -> Tensor:
        r"""Subject, verb and object of the pairs of a batch: first pieces, :math:`(3, |T|)`."""
        (verbs, below), kind = data.arc_index, data.arc_type
        pair = data.kind[data.batch[below]] == 0
        subject, object_ = (
            (pair & torch.isin(kind, ids)).nonzero().view(-1) for ids in (self.subjects, self.objects)
        )
        first, second = (verbs[subject][:, None] == verbs[object_]).nonzero(as_tuple=True)
        return torch.stack([below[subject[first]], verbs[subject[first]], below[object_[second]]])


@torch.compiler.disable  # reads values
def _asked(data: Data) -> Tensor:
    return (data.order_target >= 0).nonzero().view(-1)


def _ids(bases: tuple[str, ...]) -> Tensor:
    """The ids of relations and of all their subtypes that are known."""
    relations = RelationVocab()
    labels = [relations.label(number) for number in range(len(relations))]
    known = {label: number for number, label in enumerate(labels) if not label.endswith("^-1")}
    return torch.tensor([number for label, number in known.items() if label.partition(":")[0] in bases])
