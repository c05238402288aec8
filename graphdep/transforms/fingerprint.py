"""A string that identifies a transform by its code, options and effect, equal in every process."""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import functools
import hashlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose

from graphdep.data.node_table import to_data
from graphdep.sentence.sentence import Sentence
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab


def identity(edges: BaseTransform) -> str:
    """The ``repr`` of a transform and eight digits of a digest of its code, its options and its effect on
    short and long examples with one and several utterances: ``"Window(2) [5a0b1c2d]"``.

    Many classes print without their options, and none prints its code, so a name alone would confuse
    different transforms. The code is that of the transform's classes and of all code that they use outside
    graphdep and installed packages (but including the classes' own package), without comments and docstrings.
    Code without a source, such as that of ``exec``, counts by its options, constants and effect.

    Raises:
        ValueError: If the transform does not print, or fails on the short examples.
    """
    sha = hashlib.sha256(json.dumps(_Code(edges).parts()).encode())
    for each in (_short_examples, _long_examples):
        sha.update(_behaviour(edges, each))
    return f"{printed(edges)} [{sha.hexdigest()[:8]}]"


def same_edges(mine: str, other: str) -> bool:
    """Whether two identities belong to the same transform, even if it prints differently."""
    return mine.rpartition(" ")[2] == other.rpartition(" ")[2]


def is_repeatable(edges: BaseTransform) -> bool:
    """Whether a transform consists of graphdep's own transforms, which always give the same result for an
    example; others may be random.
    """
    parts = [*_classes(edges), *_functions(edges)]
    return all(part is Compose or _package(str(part.__module__)) == "graphdep" for part in parts)


def printed(edges: BaseTransform) -> str:
    """The transform's ``repr`` in one line, without addresses in memory."""
    try:
        text = repr(edges)
    except AttributeError as error:  # the repr of our base classes prints each argument
        raise ValueError(
            f"{type(edges).__name__} does not print ({error}): keep each argument of its __init__ as an "
            "attribute of that name, or define __repr__"
        ) from None
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", text).split())


def _behaviour(edges: BaseTransform, examples: Callable[[], list[list[Sentence]]]) -> bytes:
    """A digest of the effect of a transform on examples."""
    sha = hashlib.sha256()
    try:
        before, after = _input_and_output(edges, examples)
    except ValueError as error:
        if examples is _short_examples:
            raise
        return type(error.__cause__).__name__.encode()  # custom edges may limit the sentence length
    for key, value in sorted(after.items()):
        # Keys that the transform does not change do not count.
        if not isinstance(value, torch.Tensor) or (key in before and _equal(value, before[key])):
            continue
        # The last digits of a float depend on the machine.
        value = value.double().mul(1e4).round() if value.is_floating_point() else value.long()
        sha.update(f"{key} {[*value.shape]} ".encode() + value.contiguous().numpy().tobytes())
    return sha.digest()


def _input_and_output(
    edges: BaseTransform, examples: Callable[[], list[list[Sentence]]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Input and output of a transform: plain examples, or marked ones if the transform needs marks."""
    errors = []
    # Marks only where needed: a transform that copies all keys would change its identity.
    for make in (_batch, _marked, _marked_phrases):
        try:
            batch = make(examples)
            return dict(batch.to_dict()), _applied(edges, batch)
        except Exception as error:  # of code that is not ours
            errors.append(error)
    first, *_ = errors
    raise ValueError(
        f"{printed(edges)} fails on a batch of two examples: {type(first).__name__}: {first}"
    ) from first


def probe() -> Batch:
    """The short batch on which transforms are tried."""
    return _batch(_short_examples)


def applied_to_probe(edges: BaseTransform) -> tuple[dict[str, Any], dict[str, Any]]:
    """A short batch, and the output of a transform on it."""
    return _input_and_output(edges, _short_examples)


def _applied(edges: BaseTransform, batch: Batch) -> dict[str, Any]:
    # Fixed seed, and no effect on the random numbers of the run.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return edges(batch.clone()).to_dict()


def with_marks(data: Data) -> Data:
    """A copy in which the first word of each utterance is one span, and all words from the sixth on are
    another; without a sixth word in the data, from the second on.
    """
    data, word = data.clone(), data.word
    second = word >= (5 if int(word.max()) >= 5 else 1)
    data.mark = (word == 0).long() + 2 * second.long()
    return data


def _equal(value: torch.Tensor, other: object) -> bool:
    return isinstance(other, torch.Tensor) and torch.equal(value, other)


def phrase_probe() -> Batch:
    """A batch of short examples with constituents: in each utterance all words, the words up to the middle,
    and the words after it.
    """
    return _phrases(_short_examples)


@functools.cache
def _phrases(examples: Callable[[], list[list[Sentence]]]) -> Batch:
    made = []
    for data in _batch(examples).to_data_list():
        spans = []
        for utterance in data.utterance.unique():
            words = ((data.utterance == utterance) & (data.word >= 0)).nonzero().view(-1).tolist()
            middle = len(words) // 2
            spans += [
                (words[0], words[-1], 20),
                (words[0], words[middle], 13),
                (words[middle + 1], words[-1], 26),
            ]
        table = torch.tensor(spans)
        data.phrase_index, data.phrase_type = table[:, :2].t().contiguous(), table[:, 2].contiguous()
        made.append(data)
    return Batch.from_data_list(made)


def _marked(examples: Callable[[], list[list[Sentence]]]) -> Batch:
    return with_marks(_batch(examples))


def _marked_phrases(examples: Callable[[], list[list[Sentence]]]) -> Batch:
    return with_marks(_phrases(examples))


@functools.cache
def _batch(examples: Callable[[], list[list[Sentence]]]) -> Batch:
    words = Vocab.build(sentence.form for example in examples() for sentence in example)
    made = [to_data(example, vocab=words, relations=RelationVocab()) for example in examples()]
    return Batch.from_data_list(made)


def _short_examples() -> list[list[Sentence]]:
    """Three utterances whose words differ in depth, place and relation. Other sentences would change the
    digest of every run on custom edges.
    """
    first = Sentence(
        ["I", "'d", "like", "to", "reserve", "a", "hotel", "room", "by", "the", "sea", "."],
        [3, 3, 0, 5, 3, 8, 8, 5, 11, 11, 8, 3],
        "nsubj aux root mark xcomp det compound obj case det nmod punct".split(),
    )
    second = Sentence(["Which", "one", "?"], [2, 0, 2], ["det", "root", "punct"])
    third = Sentence(["The", "last", "one"], [3, 3, 0], ["det", "amod", "root"])
    return [[first, second], [third]]


def _long_examples() -> list[list[Sentence]]:
    """A sentence of 60 words, up to 40 arcs deep, and an example of three utterances."""
    return [[_sentence(60)], [_sentence(18), _sentence(9), _sentence(25)]]


def _sentence(size: int) -> Sentence:
    """A chain up to word 7, the root; bushy after it; and again a chain from word 30 on."""
    back = [1 + (i * i % 5 if i < 30 else 0) for i in range(size + 1)]
    head = [0 if i == 7 else i + 1 if i < 7 else i - back[i] for i in range(1, size + 1)]
    label = ["root" if not h else _LABELS[i % len(_LABELS)] for i, h in enumerate(head)]
    return Sentence([f"w{i % 23}" for i in range(size)], head, label)


_LABELS = "nsubj det amod obj case nmod punct conj cc advmod aux".split()


_LIBRARIES = {"graphdep", "torch", "torch_geometric", *sys.stdlib_module_names}
_INSTALLED = {"site-packages", "dist-packages"}
_MISSING: Any = object()
_first_seen: dict[int, tuple[object, Any]] = {}
"""Sources of code, and copies of module-level containers (which may be caches), as first seen. Keys are ids;
the objects are kept alive, so no other object can get the same id.
"""


class _Code:
    """Code and options of a transform and of all transforms inside it, in any order."""

    def __init__(self, edges: BaseTransform) -> None:
        self.found: set[str] = set()
        self.seen: dict[int, object] = {}
        self.packages = {_package(kind.__module__) for kind in _classes(edges)} - _LIBRARIES
        self.of(edges)

    def parts(self) -> list[str]:
        return sorted(self.found)

    def of(self, value: object) -> Any:
        """A value as nested lists of strings; records the code that it needs."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Enum)):
            return repr(value)
        if isinstance(value, (torch.Tensor, np.ndarray)):
            table = torch.as_tensor(value).detach().cpu().to_dense()
            content = (table.double() if table.is_floating_point() else table).numpy().tobytes()
            return [repr(table.dtype), [*table.shape], hashlib.sha256(content).hexdigest()]
        if isinstance(value, Mapping):
            return sorted((self.of([*item]) for item in value.items()), key=json.dumps)
        if isinstance(value, (set, frozenset)):
            return sorted(map(self.of, value), key=json.dumps)
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        if isinstance(value, functools.partial):
            return self.of([value.func, value.args, value.keywords])
        if isinstance(value, MethodType):
            return self.of([value.__func__, value.__self__])
        if id(value) not in self.seen:
            self.seen[id(value)] = value
            self._add(value)
        return getattr(value if isinstance(value, (type, FunctionType)) else type(value), "__name__", "")

    def _add(self, value: object) -> None:
        if isinstance(value, FunctionType):
            if self._is_own(value.__module__):
                self._function(value)
        elif isinstance(value, type):
            for kind in value.__mro__:
                if self._is_own(kind.__module__):
                    self._class(kind)
        elif isinstance(value, property):
            self.of([value.fget, value.fset])
        elif isinstance(value, BaseTransform) or self._is_own(type(value).__module__):
            self.of(type(value))
            self._options(value)
        else:  # functions wrapped by functools and decorators
            self.of([getattr(value, "__wrapped__", None), getattr(value, "func", None)])

    def _options(self, value: object) -> None:
        """The arguments of an object, or all public attributes if they do not have the arguments' names."""
        own = self._is_own(type(value).__module__)
        parameters = [*inspect.signature(type(value)).parameters.values()]
        held = {p.name: getattr(value, p.name, getattr(value, f"_{p.name}", _MISSING)) for p in parameters}
        usual = {p.name: p.default for p in parameters}
        if own and _MISSING in held.values():
            held = {name: item for name, item in vars(value).items() if not name.startswith("_")}
        for name, item in held.items():
            said = self.of(item)
            # A default stands in the code, so a new option of graphdep changes nothing. Transforms inside a
            # library's container are no options.
            if said != self.of(usual.get(name)) and (own or not any(_classes(item))):
                self.found.add(json.dumps([name, said]))

    def _class(self, kind: type) -> None:
        for name, member in vars(kind).items():
            if name == "__repr__":  # printing does not change the effect
                continue
            written = isinstance(member, FunctionType) and self._is_own(member.__module__)
            if hasattr(kind, "__dataclass_fields__") and written:
                written = member.__code__.co_filename != "<string>"
            if written or not (name.startswith("__") or name == "_abc_impl"):  # all others are Python's
                self.found.add(json.dumps([name, self._at_first(member)]))

    def _function(self, function: FunctionType) -> None:
        self.found.add(_source(function.__code__))
        self.found.add(json.dumps(self.of([function.__defaults__, function.__kwdefaults__])))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                self.found.add(json.dumps(self._at_first(cell.cell_contents)))
        for name, *attributes in _globals(function.__code__):
            value = function.__globals__.get(name)
            while isinstance(value, ModuleType) and self._is_own(value.__name__) and attributes:
                value = getattr(value, attributes.pop(0), None)
            if not (value is None or isinstance(value, ModuleType) or self._is_library(value)):
                self.found.add(json.dumps([name, self._at_first(value)]))

    def _is_library(self, value: object) -> bool:
        """Whether a value is a library function or class; its name in the code identifies it."""
        named = callable(value) and not isinstance(value, (BaseTransform, functools.partial))
        return named and not self._is_own(getattr(value, "__module__", None))

    def _at_first(self, value: object) -> Any:
        if isinstance(value, (dict, list, set)):
            _, value = _first_seen.setdefault(id(value), (value, copy.copy(value)))
        return self.of(value)

    def _is_own(self, module: str | None) -> bool:
        package = _package(module or "")
        if package in self.packages or package in _LIBRARIES:
            return package in self.packages
        path = getattr(sys.modules.get(module or ""), "__file__", None) or ""
        return not _INSTALLED & {*Path(path).parts}


def _package(module: str) -> str:
    return module.partition(".")[0]


def _classes(value: object) -> Iterator[type]:
    """The classes of a transform and of the transforms inside it."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _classes(item)
    elif isinstance(value, BaseTransform):
        yield type(value)
        for item in vars(value).values():
            yield from _classes(item)


def _functions(value: object) -> Iterator[Any]:
    """Callables of a transform, other than transforms."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _functions(item)
    elif isinstance(value, BaseTransform):
        yield from _functions([*vars(value).values()])
    elif callable(value):
        yield value if hasattr(value, "__module__") else type(value)


@functools.cache
def _globals(code: CodeType) -> set[tuple[str, ...]]:
    """The global names that code reads but does not write, each with the attributes read from it."""
    found: list[tuple[str, ...]] = []
    written, asked = set(), False
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and asked:
            found[-1] += (step.argval,)
            continue
        asked = step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        if asked:
            found.append((step.argval,))
        elif step.opname == "STORE_GLOBAL":
            written.add(step.argval)
    inner = [_globals(part) for part in code.co_consts if isinstance(part, CodeType)]
    return {path for path in {*found}.union(*inner) if path[0] not in written}


def _source(code: CodeType) -> str:
    """The source of a function, without comments and docstrings; empty if there is none, since bytecode
    differs between versions of Python.
    """
    # As first read: a file may be edited while its code runs. Equal code may have other decorators.
    if id(code) not in _first_seen:
        _first_seen[id(code)] = code, _read(code)
    return str(_first_seen[id(code)][1])


def _read(code: CodeType) -> str:
    try:
        text = textwrap.dedent(inspect.getsource(code))
    except (OSError, TypeError):
        return ""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a part of an expression
        return " ".join(text.split())
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    if code.co_name == "<lambda>":  # the source has the whole line
        return " ".join(ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Lambda))
    return ast.unparse(tree)
