"""What each set of packages is enough for, and the sentence that says which extra has what is missing."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import pytest
from packaging.requirements import Requirement

from graphdep.io.extras import EXTRAS
from tests.kit.installed import needed, project, run_with

CORE, PARSE, TRAIN = (), ("parse",), ("train",)
TREE = 'Sentence(["She", "sings", "."], [2, 0, 2], ["nsubj", "root", "punct"])'
CONLLU = "1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsings\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"
# name: (extras, code)
WORKS = {
    "edges of all names": (
        CORE,
        f"""
        from graphdep import Sentence, to_data
        from graphdep.transforms import resolve
        from graphdep.transforms.presets import PRESETS
        for name in PRESETS:
            resolve(name)(to_data({TREE}))
        """,
    ),
    "layers": (
        CORE,
        f"""
        import torch
        import graphdep.nn.conv as conv
        from graphdep import RelationVocab, Sentence, to_data
        data = to_data({TREE})
        edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
        for name in ("AttentionConv", "DRAConv", "SIAConv", "DAMConv"):
            assert getattr(conv, name)(8, 4, heads=2)(torch.randn(2, 8), edge_index).shape == (2, 8)
        assert set(conv.__all__) <= set(dir(conv))
        """,
    ),
    "models": (
        CORE,
        f"""
        from graphdep import RelationVocab, Sentence, Vocab, to_data
        from graphdep.nn.conv import DRAConv
        from graphdep.nn.models import DependencyTransformer, GraphTransformer
        from graphdep.transforms import resolve
        data = to_data({TREE}, vocab=Vocab(["She", "sings", "."]))
        model = GraphTransformer(8, lambda layer: DRAConv(8, 4, heads=2), hidden_channels=8)
        assert model(resolve("dra")(data)).shape == (4, 8)
        model = DependencyTransformer(num_words=8, num_relations=len(RelationVocab()), hidden_channels=12)
        assert model(resolve("dt")(data)).shape == (4, 12)
        """,
    ),
    "CoNLL-U": (
        CORE,
        f"""
        from graphdep.io import format_conllu, parse_conllu, read_conllu, write_conllu
        from graphdep.parsing import resolve_parser
        sentences = list(parse_conllu({CONLLU!r}))
        write_conllu(sentences, "a.conllu")
        assert [one.head for one in read_conllu("a.conllu")] == [[2, 0]]
        parsed = resolve_parser("conllu:a.conllu", progress=True).parse_words([["She", "sings"]])
        assert parsed[0].head == [2, 0]
        """,
    ),
    "pages and SVG": (
        CORE,
        f"""
        from pathlib import Path
        from graphdep import Sentence, draw
        draw({TREE}, ["dra", "dt"]).save("a.html")
        draw({TREE}, "sia").save("a.svg")
        assert "<html" in Path("a.html").read_text() and "<svg" in Path("a.svg").read_text()
        """,
    ),
    "a corpus of parses": (
        CORE,
        """
        from graphdep.datasets import CSVTexts
        open("a.csv", "w").write("text,label\\n" + "a film,good\\nno film,bad\\n" * 9)
        made = CSVTexts("c", train="a.csv", text_columns="text", label_column="label", parser="chain")
        assert made.labels == ("bad", "good")
        """,
    ),
    "a network of NetworkX, which torch brings": (
        CORE,
        f"from graphdep import Sentence; assert len({TREE}.to_networkx()) == 4",
    ),
    "the bundled parser": (
        PARSE,
        """
        from graphdep.parsing import resolve_parser
        parser = resolve_parser("bundled", arcs="enhanced", constituents=True, progress=True)
        [[sentence]] = parser.parse(["She sings."])
        assert sentence.head == [2, 0, 2] and sentence.constituents and sentence.form[0] == "She"
        """,
    ),
    "a classifier of trees": (
        TRAIN,
        """
        from graphdep import Sentence, SequenceClassifier
        trees = [Sentence.chain(words.split()) for words in ("a fine film", "so dull") * 6]
        model = SequenceClassifier("transformer", model="dt", parser="chain", max_epochs=1, progress=False)
        model.fit(trees, ["good", "bad"] * 6)
        assert set(model.predict(trees)) <= {"good", "bad"}
        model.save_pretrained("saved")
        """,
    ),
    "the command line": (
        TRAIN,
        f"""
        from graphdep.cli import app
        open("a.conllu", "w").write({CONLLU!r})
        for said in (["settings", "--task", "sst"], ["draw", "a.conllu", "--output", "a.html"]):
            try:
                app(said, prog_name="graphdep")
            except SystemExit as end:
                assert not end.code, (said, end.code)
        """,
    ),
}
DRAWN = f"from graphdep import Sentence, draw; draw({TREE}, 'dra').save('a.png')"
ATTENTION = """
import torch
from graphdep.nn.conv import DRAConv
DRAConv(8, 4, heads=2, backend={!r})(torch.randn(2, 8), torch.tensor([[0, 1], [1, 0]]))
"""
# Without filelock, which torch brings.
TRAINING = (
    "lightning, scikit-learn, scipy, pydantic, pyyaml, typer, rich, matplotlib, huggingface-hub "
    "and safetensors"
)
# name: (extras, code, extra, how the sentence starts)
LACKS = {
    "bundled": (
        CORE,
        "from graphdep.parsing import BundledParser; BundledParser()",
        "parse",
        "the bundled parser needs stanza,",
    ),
    "stanza": (
        CORE,
        "from graphdep.parsing import resolve_parser; resolve_parser('stanza:de')",
        "parse",
        "a parser of stanza needs stanza,",
    ),
    "corenlp": (
        CORE,
        "from graphdep.parsing import resolve_parser; resolve_parser('corenlp')",
        "parse",
        "the client of CoreNLP needs stanza,",
    ),
    "an estimator": (
        CORE,
        "from graphdep import SequenceClassifier",
        "train",
        "graphdep.SequenceClassifier needs pydantic,",
    ),
    "training": (
        CORE,
        "from graphdep.training import train",
        "train",
        "graphdep.training.train needs lightning,",
    ),
    "the program": (
        CORE,
        "from graphdep.__main__ import main; main()",
        "train",
        f"graphdep: error: the command line needs {TRAINING},",
    ),
    "plots": (
        CORE,
        "from graphdep.visualization import plot_tree",
        "train",
        "graphdep.visualization.plot_tree needs matplotlib,",
    ),
    "a picture": (CORE, DRAWN, "train", "a picture of this kind (png) needs matplotlib,"),
    "scores": (
        CORE,
        "import numpy\nfrom graphdep.metrics import F1\nF1(numpy.ones(2), numpy.ones(2))",
        "train",
        "a score needs scikit-learn,",
    ),
    "comparisons": (
        CORE,
        "from graphdep.metrics import compare",
        "train",
        "graphdep.metrics.compare needs scipy,",
    ),
    "BLEU": (
        CORE,
        "from graphdep.metrics import resolve_bleu; resolve_bleu('bleu2_method7')([['a']], [['a']])",
        "dialogue",
        "BLEU-2 needs nltk,",
    ),
    "sacreBLEU": (
        CORE,
        "from graphdep.metrics import resolve_bleu; resolve_bleu('sacrebleu')([['a']], [['a']])",
        "dialogue",
        "sacreBLEU needs sacrebleu,",
    ),
    "detokenize": (
        CORE,
        "from graphdep.vocab.vocab import detokenize; detokenize(['a'])",
        "dialogue",
        "detokenize needs nltk,",
    ),
    "pieces": (
        CORE,
        "from graphdep.vocab.pieces import PieceVocab; PieceVocab.train([['a']], 300)",
        "bpe",
        "a vocabulary of pieces of words needs tokenizers,",
    ),
    "Parquet": (
        CORE,
        "from graphdep.datasets import CSVTexts\nopen('a.parquet', 'w').write('')\n"
        "CSVTexts('p', train='a.parquet', text_columns='text', label_column='label', parser='chain')",
        "parquet",
        "a.parquet: Parquet needs pyarrow,",
    ),
    "spaCy": (
        CORE,
        "from graphdep.parsing import resolve_parser; resolve_parser('spacy:en_core_web_sm')",
        "spacy",
        "a parser of spaCy needs spacy,",
    ),
    "to_spacy": (
        CORE,
        f"from graphdep import Sentence; {TREE}.to_spacy()",
        "spacy",
        "to_spacy needs spacy,",
    ),
    "pybart": (
        CORE,
        "from graphdep.parsing import resolve_parser\n"
        "resolve_parser('chain', arcs='enhanced', engine='pybart')",
        "enhanced",
        "engine 'pybart' needs pybart-nlp,",
    ),
    "a cluster": (
        CORE,
        "from graphdep.parsing import resolve_parser; resolve_parser('chain', scheduler='tcp://a:1')",
        "cluster",
        "parsing on a cluster needs distributed,",
    ),
    "scatter": (CORE, ATTENTION.format("scatter"), "scatter", "backend='scatter' needs torch-scatter,"),
    "triton": (CORE, ATTENTION.format("triton"), "triton", "backend='triton' needs triton,"),
    "an encoder": (
        CORE,
        "from graphdep.nn.pretrained import load_encoder; load_encoder('bert-base-uncased')",
        "pretrained",
        "a pretrained encoder needs transformers,",
    ),
    "a classifier of texts": (
        TRAIN,
        "from graphdep import SequenceClassifier\n"
        "SequenceClassifier('transformer', model='dt').fit(['a', 'b'] * 9, [0, 1] * 9)",
        "parse",
        "the bundled parser needs stanza,",
    ),
    "a model of dialogues": (
        TRAIN,
        "from graphdep.tasks import DialogueTask",
        "dialogue",
        "response generation needs nltk and sacrebleu,",
    ),
    "its command": (
        ("parse", "train"),
        "from graphdep.cli import app; app(['train', '--task', 'dailydialog'], prog_name='graphdep')",
        "dialogue",
        "graphdep: error: response generation needs nltk and sacrebleu,",
    ),
}
# Each piece of code says how it ended; all of one set of packages share a process.
ASK = """
import contextlib, io, json
answers = {}

def tell(name, work):
    err = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            work()
    except SystemExit as end:
        answers[name] = (f"exit {end.code}", err.getvalue())
    except BaseException as error:
        answers[name] = (type(error).__name__, str(error))
    else:
        answers[name] = ("", "")
"""


@cache
def answers(extras: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    rows = {**{f"works: {k}": v[:2] for k, v in WORKS.items()}, **{k: v[:2] for k, v in LACKS.items()}}
    mine = [(name, code) for name, (needs, code) in rows.items() if needs == extras]
    code = ASK
    for number, (name, lines) in enumerate(mine):
        lines = "\n".join(re.sub("^ {8}", "", line) for line in lines.split("\n"))
        code += f"\ndef work_{number}():\n{indent(lines.strip(), '    ')}\n\ntell({name!r}, work_{number})\n"
    with TemporaryDirectory() as folder:
        done = run_with(extras, f"{code}\nprint(json.dumps(answers))", Path(folder))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", WORKS)
def test_what_a_set_of_packages_is_enough_for(name):
    assert answers(WORKS[name][0])[f"works: {name}"] == ["", ""]


@pytest.mark.parametrize("name", LACKS)
def test_what_is_missing_is_one_sentence(name):
    extras, _, extra, start = LACKS[name]
    kind, said = answers(extras)[name]
    assert kind in ("ImportError", "ParserUnavailableError", "ValueError", "exit 2"), said
    comes = f'which comes? with graphdep\\[{extra}\\] \\(pip install "graphdep\\[{extra}\\]"; in a clone: '
    assert re.match(f'{re.escape(start)} {comes}pip install "\\.\\[{extra}\\]"\\)', said), said
    assert said.strip().count("\n") == 0


def test_the_table_of_extras_is_that_of_the_project():
    said = project()["optional-dependencies"]
    others = {"all", "browser", "docs", "dev"}
    assert EXTRAS.keys() == said.keys() - others
    for extra, modules in EXTRAS.items():
        names = {Requirement(line).name for line in said[extra]} - {"dask"}  # distributed brings it
        assert names == {*modules.values()}, extra


def test_the_core_is_torch_and_numpy():
    assert [Requirement(line).name for line in project()["dependencies"]] == [
        "torch",
        "torch-geometric",
        "numpy",
    ]
    assert not needed(CORE) & {"stanza", "lightning", "scikit-learn", "scipy", "matplotlib", "rich", "typer"}
    parsing = needed(PARSE)
    assert "stanza" in parsing
    assert not parsing & {"lightning", "scikit-learn", "matplotlib", "nltk", "transformers"}


def test_all_has_each_extra_that_any_machine_can_install():
    (line,) = project()["optional-dependencies"]["all"]
    left_out = {"spacy", "enhanced", "cluster", "scatter", "triton"}
    assert Requirement(line).extras == EXTRAS.keys() - left_out
