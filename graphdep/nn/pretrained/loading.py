"""Loading of pretrained encoders and of parts of their checkpoints."""

from __future__ import annotations

import base64
import json
import logging
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from graphdep.io.files import check_archive
from graphdep.io.limits import LARGEST_COUNT, LIMITS, check_encoder_name, check_share
from graphdep.nn.models.selection import MaskedWordHead
from graphdep.nn.pretrained.anatomy import import_transformers, quiet_transformers
from graphdep.nn.pretrained.distances import ENCODERS
from graphdep.nn.pretrained.encoder import Edges, PretrainedEncoder


def load_part(kind: Any, name: str, what: str, **options: Any) -> Any:
    """``kind.from_pretrained`` with errors that name the missing part and its place."""
    check_encoder_name(name)
    with loading(name, what):
        return kind.from_pretrained(name, trust_remote_code=False, **options)


def load_config(name: str) -> Any:
    """The configuration of an encoder.

    A file may also choose the attention, even code from the hub: build the model with
    ``attn_implementation="eager"``, which overrules it.
    """
    config = load_part(import_transformers().AutoConfig, name, "encoder")
    for part in (config, config.get_text_config()):
        try:
            check_counts(part.to_dict())
        except ValueError as error:
            raise ValueError(f"{name!r} has no encoder of a valid size ({error})") from None
        if getattr(part, "quantization_config", None) is not None:
            raise ValueError(f"{name!r} has quantised weights ('quantization_config'), which are not read")
    return config


def encoder_class(config: Any) -> Any:
    """The class for the encoder of a configuration; for a model with a decoder, the encoder only."""
    kind = ENCODERS.get(config.model_type)
    return getattr(import_transformers(), "AutoModel" if kind is None else kind.auto_class)


def is_count_of_layers(name: str) -> bool:
    """Whether a key of a configuration is a number of layers or of groups of layers."""
    return name.endswith(("layers", "groups", "group_num", "blocks"))


def check_counts(options: Mapping[str, Any]) -> None:
    """Raises :class:`ValueError` if building an encoder with these options would need excessive resources."""
    for name, value in options.items():
        most = LIMITS["num_layers"][1] if is_count_of_layers(name) else LARGEST_COUNT
        if isinstance(value, int) and abs(value) > most:
            raise ValueError(f"{name!r} is {value}")


@contextmanager
def loading(name: str, what: str) -> Iterator[None]:
    """Silences transformers, and turns all of its errors into :class:`ValueError` with the folder's name."""
    try:
        with quiet_transformers():
            yield
    except Exception as error:  # damaged files may raise anything, e.g. KeyError
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        if not isinstance(error, (OSError, ValueError, RuntimeError)):
            first = f"{type(error).__name__}: {first}"
        why = f"{name!r} has no {what} that transformers can load ({first})"
        if isinstance(error, OSError) and not os.path.exists(name):
            why = (
                f"{name!r} is no local folder, and could not be fetched from the Hugging Face hub ({first}): "
                "give a folder, or see HF_HOME"
            )
        raise ValueError(why) from error


def set_dropout(config: Any, dropout: float | None) -> None:
    """Sets all dropout probabilities, whatever their names (``hidden_dropout_prob``, ``attention_dropout``);
    :obj:`None` leaves them unchanged.
    """
    if dropout is None:
        return
    for key, value in config.to_dict().items():
        if "dropout" in key and isinstance(value, (int, float)) and not isinstance(value, bool):
            setattr(config, key, dropout)


_SPECIAL = ("cls_token", "sep_token", "unk_token", "pad_token", "mask_token")
# Options about the origin, about absent heads, and options that a file may not choose.
_UNREAD = (
    *("_name_or_path", "num_labels", "id2label", "label2id", "auto_map", "quantization_config"),
    *("attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
)


def encoder_state(encoder: PretrainedEncoder) -> dict[str, str]:
    """Configuration and tokenizer of an encoder, as strings for :func:`encoder_of_state`."""
    config = {key: value for key, value in encoder.model.config.to_dict().items() if key not in _UNREAD}
    special = {name: getattr(encoder.tokenizer, name) for name in _SPECIAL}
    return {
        "config": json.dumps(config),
        "tokenizer": encoder.tokenizer.backend_tokenizer.to_str(),
        "special": json.dumps({name: token for name, token in special.items() if token is not None}),
        "eou": encoder.tokens.eou,
    }


def encoder_of_state(
    state: Mapping[str, str], weights: Mapping[str, Tensor] | None = None
) -> PretrainedEncoder:
    """An encoder with random weights, into which its own can be loaded.

    Args:
        state: The output of :func:`encoder_state`.
        weights: The weights to be loaded, with names that end like the model's. The model is only built if
            its parameters are among them in the same shapes: a damaged state could take all memory. (default:
            :obj:`None`)

    Raises:
        ValueError: If the state is damaged, or does not fit the weights.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    try:
        options, special = json.loads(state["config"]), json.loads(state["special"])
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=_backend(state["tokenizer"]), **special
        )
        if state["eou"] not in tokenizer.get_vocab():
            raise ValueError(f"the tokenizer has no token {state['eou']!r}")
        config = transformers.AutoConfig.for_model(**_checked(options, weights))
        if weights is not None:
            with torch.device("meta"):
                _check_shapes(encoder_class(config).from_config(config), weights)
        model = encoder_class(config).from_config(config)
        return PretrainedEncoder(model, tokenizer, eou=state["eou"])
    except (ImportError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of tokenizers is not an Exception
        raise ValueError(f"not the state of an encoder: {' '.join(str(error).split())[:200]}") from None


def _checked(options: Mapping[str, Any], weights: Mapping[str, Tensor] | None) -> dict[str, Any]:
    """The options of a configuration, checked so that building the model is fast."""
    kept = {key: value for key, value in options.items() if key not in _UNREAD}
    for name, value in kept.items():
        if isinstance(value, dict) and name.endswith("config"):
            raise ValueError(f"{name!r} is a configuration of its own, which no text encoder has")
        layers = is_count_of_layers(name) and isinstance(value, int)
        if layers and weights is not None and value > len(weights):
            raise ValueError(f"{name!r} is {value}, which its weights do not have")
    check_counts(kept)
    return kept


def _check_shapes(model: torch.nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Raises :class:`ValueError` unless the weights contain every parameter of the model in full size."""
    # Weights of other modules may have the same ending, but are not inside a `model`.
    found = {f".{name}".rpartition(".model.")[2]: weight for name, weight in weights.items()}
    for name, parameter in model.named_parameters():
        if name.startswith("pooler."):
            continue
        shape = [*found[name].shape] if name in found else None
        own = [*parameter.shape]
        if shape != own:
            raise ValueError(f"{name!r} has shape {own}, in its weights {shape}")
        weight = found[name]
        if weight.untyped_storage().nbytes() < weight.numel() * weight.element_size():
            raise ValueError(f"{name!r} repeats its numbers instead of having them")


def _backend(text: str) -> Any:
    from tokenizers import Tokenizer

    for step in _steps(json.loads(text)):
        if step.get("type") == "Precompiled":
            _check_charsmap(step.get("precompiled_charsmap"))
    return Tokenizer.from_str(text)


def _steps(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _steps(part)


def _check_charsmap(charsmap: Any) -> None:
    """Raises :class:`ValueError` if a map's size field exceeds its data: tokenizers would trust it, allocate
    that memory, and abort the process.
    """
    blob = base64.b64decode(charsmap) if isinstance(charsmap, str) else b""
    if len(blob) < 4 or int.from_bytes(blob[:4], "little") > len(blob) - 4:
        raise ValueError("the tokenizer has a damaged 'precompiled_charsmap'")


logger = logging.getLogger("graphdep.nn.pretrained")

_WORDS = "embeddings.word_embeddings.weight"
# Entries that are no weights (in older checkpoints), and weights that are not read.
_BERT_FP_UNREAD = ("embeddings.position_ids", "embeddings.token_type_ids", "pooler.")


def load_bert_fp(
    path: str | os.PathLike[str],
    base: str | os.PathLike[str],
    *,
    edges: Mapping[int, Edges] | None = None,
    eou: str = "[EOU]",
    dtype: torch.dtype | None = None,
    dropout: float | None = None,
    backend: str = "auto",
    windows: str = "own",
) -> PretrainedEncoder:
    """Loads the encoder of a checkpoint from the public code of `"Fine-grained Post-training for Improving
    Retrieval-based Dialogue Systems" <https://aclanthology.org/2021.naacl-main.122/>`_ (BERT-FP), in
    evaluation mode.

    The file is a PyTorch state dict, read with ``weights_only=True`` and checked against its checksums; a
    file from before PyTorch 1.6 has none, which gives a warning. It contains only the BERT (``bert.pt`` of
    post-training) or a model around it, whose other weights are dropped with a warning. Its table has one row
    more than the tokenizer of :obj:`base`, for ``[eos]``, the end of an utterance. Here that row is named
    :obj:`eou`, under which :func:`load_encoder` finds it after :meth:`PretrainedEncoder.save_pretrained`. The
    pooler is not read.

    Args:
        path: The checkpoint.
        base: Folder or name of the BERT with its configuration and tokenizer: ``bert-base-uncased`` for
            Ubuntu, ``bert-base-chinese`` for Douban and E-commerce. Its weights are not read.
        edges, eou, dtype, dropout, backend, windows: As in :func:`load_encoder`.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        ValueError: If the file is not a state dict, is damaged, or does not fit :obj:`base`: the message
            names weights that are missing, unexpected, of another shape or not floating-point; or if the
            tokenizer already has :obj:`eou`.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    check_share("dropout", dropout)
    state = _weights_of_bert(_read(path), os.fspath(path))
    name = os.fspath(base)
    config = load_config(name)
    kind = config.model_type  # other models may share layer names, but not positions
    if kind != "bert":
        raise ValueError(f"'base' must be a BERT (got {kind!r} in {name!r})")
    tokenizer = load_part(transformers.AutoTokenizer, name, "tokenizer")
    if eou in tokenizer.get_vocab():
        raise ValueError(f"'eou' must be new to the tokenizer of {name!r}, which has no [eos] (got {eou!r})")
    rows = state[_WORDS].size(0)
    if rows != len(tokenizer) + 1:
        raise ValueError(
            f"{os.fspath(path)}: the checkpoint has {rows} embeddings, which must be one more than the "
            f"tokenizer of {name!r} has tokens, that of [eos] (got {len(tokenizer)} tokens)"
        )
    tokenizer.add_tokens([eou], special_tokens=True)
    config.vocab_size = rows
    set_dropout(config, dropout)
    with loading(name, "encoder"):
        model = transformers.AutoModel.from_config(
            config, add_pooling_layer=False, attn_implementation="eager", trust_remote_code=False
        )
    _fill(model, state, os.fspath(path), name)
    model.to(torch.float32 if dtype is None else dtype).eval()
    return PretrainedEncoder(model, tokenizer, edges=edges, eou=eou, backend=backend, windows=windows)


def _read(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """A state dict, read without running code from the file."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no checkpoint at {os.fspath(path)}")
    has_checksums = zipfile.is_zipfile(path)
    if has_checksums:
        check_archive(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files may raise anything, e.g. EOFError
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{os.fspath(path)}: no state dict of PyTorch ({first[:120]})") from None
    if not isinstance(state, dict) or not all(map(_is_entry, state.items())):
        raise ValueError(f"{os.fspath(path)}: no state dict of PyTorch (got {_described(state)})")
    if not has_checksums:
        logger.warning("%s: an old file without checksums, so damage would not be seen", os.fspath(path))
    return dict(state)


def _is_entry(entry: tuple[Any, Any]) -> bool:
    return isinstance(entry[0], str) and isinstance(entry[1], Tensor)


def _weights_of_bert(state: dict[str, Tensor], path: str) -> dict[str, Tensor]:
    """The weights of the BERT in a checkpoint, with the names that they have in a plain BERT."""
    prefixes = [key.removesuffix(_WORDS) for key in state if key.endswith(_WORDS)]
    if len(prefixes) != 1:
        raise ValueError(f"{path}: the checkpoint must have one {_WORDS!r} (got {len(prefixes)})")
    prefix = prefixes[0]
    others = [key for key in state if not key.startswith(prefix)]
    if others:
        logger.warning("%s: dropped weights that are not part of the BERT: %s", path, _named(others))
    inside = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    weights = {key: value for key, value in inside.items() if not key.startswith(_BERT_FP_UNREAD)}
    for key, value in weights.items():
        if not value.is_floating_point():
            raise ValueError(f"{path}: {prefix + key!r} must be floating-point numbers (got {value.dtype})")
    return weights


def _fill(model: Any, state: dict[str, Tensor], path: str, base: str) -> None:
    """Loads exactly these weights."""
    wanted = model.state_dict()
    wrong = {
        "missing": sorted(key for key in wanted if key not in state and not key.startswith(_BERT_FP_UNREAD)),
        "unexpected": sorted(key for key in state if key not in wanted),
        "of another shape": [
            f"{key} {[*value.shape]} for {[*wanted[key].shape]}"
            for key, value in state.items()
            if key in wanted and value.shape != wanted[key].shape
        ],
    }
    found = "; ".join(f"{what}: {_named(keys)}" for what, keys in wrong.items() if keys)
    if found:
        raise ValueError(f"{path}: the checkpoint does not fit {base!r}: {found}")
    model.load_state_dict(state, strict=False)


def _named(keys: list[str]) -> str:
    more = f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    return ", ".join(keys[:5]) + more


def _described(state: Any) -> str:
    if not isinstance(state, dict):
        return type(state).__name__
    key = next(entry[0] for entry in state.items() if not _is_entry(entry))
    if not isinstance(key, str):
        return f"the {type(key).__name__} {str(key)[:80]} for a name"
    return f"{type(state[key]).__name__} under {str(key)[:80]!r}"


# Names of the dense layer, the norm and the bias in BERT's and in RoBERTa's families.
_NAMES = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
)


def load_masked_word_head(head: MaskedWordHead, name_or_folder: str | os.PathLike[str]) -> bool:
    """Loads a checkpoint's weights for the head, in place.

    Checkpoints of BERT and RoBERTa have them, unless they were saved without a head. Words that the
    checkpoint does not know keep a bias of 0.

    Args:
        head: The head.
        name_or_folder: As in :func:`load_encoder`.

    Returns:
        Whether the checkpoint has such weights; if not, the head is unchanged.

    Raises:
        ValueError: If there is no such checkpoint, its sizes differ, or a weight is not finite.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    name = os.fspath(name_or_folder)
    config = load_config(name)
    if type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return False
    model, report = load_part(
        transformers.AutoModelForMaskedLM,
        name,
        "encoder",
        config=config,
        attn_implementation="eager",
        dtype=torch.float32,
        weights_only=True,
        output_loading_info=True,
    )
    state = model.state_dict()
    for dense, norm, bias in _NAMES:
        own = {
            "lin.weight": f"{dense}.weight",
            "lin.bias": f"{dense}.bias",
            "norm.weight": f"{norm}.weight",
            "norm.bias": f"{norm}.bias",
            "bias": bias,
        }
        if all(key in state and key not in report["missing_keys"] for key in own.values()) and _alike(config):
            _copy(head, {key: state[name] for key, name in own.items()}, name)
            head.norm.eps = config.layer_norm_eps
            return True
    return False


def _alike(config: Any) -> bool:
    """Whether the checkpoint's head is the same function as ours."""
    return config.hidden_act == "gelu" and config.tie_word_embeddings


def _copy(head: MaskedWordHead, weights: dict[str, torch.Tensor], name: str) -> None:
    own = head.state_dict()
    for key, value in weights.items():
        rows = value.size(0) if key == "bias" else own[key].size(0)
        if rows > own[key].size(0) or value.shape[1:] != own[key].shape[1:] or value.size(0) != rows:
            raise ValueError(
                f"{name!r} is not the checkpoint of this encoder: {key!r} of the masked-word head is "
                f"{[*value.shape]}, not {[*own[key].shape]}"
            )
        if not value.isfinite().all():
            raise ValueError(f"{name!r}: weight {key!r} of the masked-word head is not finite")
    for key, value in weights.items():
        own[key][: value.size(0)].copy_(value)


def load_encoder(
    name_or_folder: str | os.PathLike[str],
    *,
    base: str | os.PathLike[str] | None = None,
    edges: Mapping[int, Edges] | None = None,
    eou: str = "[EOU]",
    dtype: torch.dtype | None = None,
    dropout: float | None = None,
    backend: str = "auto",
    windows: str = "own",
) -> PretrainedEncoder:
    """A Hugging Face encoder with its tokenizer, ready to run over edges, in evaluation mode.

    Weights come from safetensors, or from a PyTorch file read with ``weights_only=True``; code from a folder
    or the hub is never run, and the attention setting in ``config.json`` is ignored. Weights that the encoder
    does not have, such as those of a head, are dropped with a warning.

    Args:
        name_or_folder: A folder from ``save_pretrained``, or a name on the Hugging Face hub; with
            :obj:`base`, a checkpoint of BERT-FP.
        base: The BERT of such a checkpoint, see :func:`~graphdep.nn.pretrained.loading.load_bert_fp`.
            (default: :obj:`None`)
        edges: Edges of single layers, see :class:`PretrainedEncoder`. (default: :obj:`None`)
        eou: The end symbol of an utterance, added if it is unknown. (default: ``"[EOU]"``)
        dtype: Type of the weights. (default: ``torch.float32``, whatever the type in the file)
        dropout: Dropout probability of states and attention weights alike. (default: the model's own)
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`. (default: ``"auto"``)
        windows: ``"own"`` or ``"dropped"``, see :class:`PretrainedEncoder`. (default: ``"own"``)

    Raises:
        ValueError: If there is no such encoder or tokenizer, weights are missing, quantised or not finite,
            the model cannot run over edges, model and tokenizer do not belong together, or an option is
            invalid.
        ImportError: If transformers is not installed.
    """
    options: dict[str, Any] = {"edges": edges, "eou": eou, "backend": backend, "windows": windows}
    if base is not None:
        return load_bert_fp(name_or_folder, base, dtype=dtype, dropout=dropout, **options)
    transformers = import_transformers()
    check_share("dropout", dropout)
    name = os.fspath(name_or_folder)
    config = load_config(name)
    set_dropout(config, dropout)
    model, report = load_part(
        encoder_class(config),
        name,
        "encoder",
        config=config,
        attn_implementation="eager",
        dtype=torch.float32 if dtype is None else dtype,
        weights_only=True,
        output_loading_info=True,
    )
    _check_weights(report, name)
    tokenizer = load_part(transformers.AutoTokenizer, name, "tokenizer")
    return PretrainedEncoder(model, tokenizer, **options)


def _check_weights(report: Any, name: str) -> None:
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise ValueError(f"{name}: weights are missing, first {missing[0]!r} ({len(missing)} in all)")
    unused = sorted(key for key in report["unexpected_keys"] if not key.startswith("pooler."))
    if unused:
        what = f"{unused[0]!r} first ({len(unused)} in all)"
        logger.warning("%s: dropped weights that are not part of the encoder, %s", name, what)
