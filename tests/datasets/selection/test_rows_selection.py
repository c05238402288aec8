from __future__ import annotations

from pathlib import Path

import pytest

from graphdep.datasets import Douban, ECommerce
from graphdep.parsing import ParserUnavailableError, resolve_parser
from graphdep.parsing.parser import ChainParser

NAMES = {
    Douban: [("train.txt", "dev.txt", "test.txt"), ("train.sample", "valid.txt", "test.txt")],
    ECommerce: [
        ("train.txt", "dev.txt", "test.txt"),
        ("ECD_sample-train.txt", "ECD_sample-valid.txt", "ECD_sample-test.txt"),
    ],
}


def put(folder: Path, names) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in zip(names, (2, 2, 10)):
        rows = [f"{int(i == 0)}\t你好 吗\t很 好\t谢谢 {i}\n" for i in range(size)]
        (folder / name).write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("corpus", "names"), [(corpus, names) for corpus, layouts in NAMES.items() for names in layouts]
)
def test_splits(tmp_path, parser, corpus, names):
    raw = put(tmp_path / "files", names)
    for split, size in zip(corpus.splits, (2, 2, 10)):
        dataset = corpus(tmp_path / "corpus", split, parser, raw_from=raw)
        assert dataset.labels().tolist() == [1, *[0] * (size - 1)]
        assert dataset.context(size - 1) == [["你好", "吗"], ["很", "好"]]
        assert dataset.response(size - 1) == ["谢谢", str(size - 1)]
        assert dataset.describe()["pools"] == 1
    assert sorted(path.name for path in (tmp_path / "corpus" / "raw").iterdir()) == sorted(names)


@pytest.mark.parametrize("corpus", [Douban, ECommerce])
def test_pools_of_test_have_ten_candidates(tmp_path, parser, corpus):
    raw = put(tmp_path / "raw", NAMES[corpus][0])
    path = raw / "test.txt"
    path.write_text(path.read_text(encoding="utf-8") + "1\t好\t好\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"test\.txt:11: the context has 1 candidates"):
        corpus(tmp_path, "test", parser)


@pytest.mark.parametrize("labels", ["0000000000", "1111111111", "1100000000"])
def test_pools_with_any_number_of_right_candidates(tmp_path, parser, labels):
    raw = put(tmp_path / "raw", NAMES[Douban][0])
    text = "".join(f"{label}\t好\t谢谢 {i}\n" for i, label in enumerate(labels))
    (raw / "test.txt").write_text(text, encoding="utf-8")
    about = Douban(tmp_path, "test", parser).describe()
    assert about["pools_without_positive"] == ("1" not in labels)
    assert about["pools_all_positive"] == ("0" not in labels)


@pytest.mark.parametrize("corpus", [Douban, ECommerce])
def test_a_parser_must_be_given(tmp_path, corpus, monkeypatch):
    def missing(self):
        raise ParserUnavailableError("no models.")

    put(tmp_path / "raw", NAMES[corpus][0])
    monkeypatch.setattr("graphdep.parsing.stanza.StanzaParser._load", missing)
    message = rf"no models\. {corpus.corpus} is in Chinese: it takes a parser of Chinese, such as 'stanza:zh'"
    with pytest.raises(ParserUnavailableError, match=message):
        corpus(tmp_path)


@pytest.mark.parametrize("corpus", [Douban, ECommerce])
def test_no_english_parser(tmp_path, corpus):
    put(tmp_path / "raw", NAMES[corpus][0])
    cached = resolve_parser("bundled", cache=tmp_path / "parses.sqlite")
    for english, shown in (("bundled", "'bundled'"), ("stanza", "'stanza'"), (cached, "CachedParser")):
        message = rf"'parser' is {shown}, of language 'en'\. {corpus.corpus} is in Chinese"
        with pytest.raises(ValueError, match=message):
            corpus(tmp_path, parser=english)


def test_other_parsers_of_chinese(tmp_path):
    put(tmp_path / "raw", NAMES[Douban][0])
    for language in ("zh", "zh-hans", None):
        parser = ChainParser()
        parser.language = language
        assert len(Douban(tmp_path, parser=parser))


@pytest.mark.parametrize("corpus", [Douban, ECommerce])
def test_without_files(tmp_path, parser, corpus):
    with pytest.raises(FileNotFoundError, match=r"train\.txt or .* is not in .*github\.com.*raw_from"):
        corpus(tmp_path, parser=parser)
