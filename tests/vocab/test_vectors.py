from __future__ import annotations

import pytest
import torch

from graphdep import Vocab
from graphdep.vocab.vectors import load_vectors, words_with_vector


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes):
        path = tmp_path / "vectors.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_load_vectors(write):
    vocab = Vocab(["dog", "cat", "Paris", "zebra"])
    path = write("the 9 9\ndog 1 -2e0\ncat 0.5 .25\nparis 3. 4\ndog 7 7\n")
    vectors, share = load_vectors(path, vocab, missing="zeros")
    assert share == 0.75
    assert vectors.shape == (len(vocab), 2)
    assert vectors[5:].tolist() == [[1, -2], [0.5, 0.25], [3, 4], [0, 0]]
    assert vectors[:5].abs().sum() == 0


def test_load_vectors_prefers_the_word_as_it_stands(write):
    vectors, share = load_vectors(write("paris 1\nParis 2\n"), Vocab(["Paris", "paris"]))
    assert vectors[5:].tolist() == [[2], [1]]
    assert share == 1


@pytest.mark.parametrize("lower", [True, False])
def test_words_with_vector_are_those_that_get_one(write, lower):
    path = write("the 9 9\ndog 1 -2e0\nParis 3. 4\n")
    words = ["dog", "Dog", "Paris", "paris", "zebra"]
    vocab = Vocab(words, lower=lower)
    vectors, share = load_vectors(path, vocab, missing="zeros")
    given = {word for word in words if vectors[vocab[word]].any()}
    assert words_with_vector(path, words) == given == {"dog", "Dog", "Paris"}
    assert share == len(given) / len(words)


def test_load_vectors_missing_words_are_seeded(write):
    path = write("dog 1 1\n")
    vocab = Vocab(["cat"])
    first, share = load_vectors(path, vocab)
    assert share == 0
    assert first.abs().max() <= 0.05
    assert first.unique().numel() == first.numel()
    assert torch.equal(first, load_vectors(path, vocab, seed=0)[0])
    assert not torch.equal(first, load_vectors(path, vocab, seed=1)[0])
    with pytest.raises(ValueError, match=r"'missing' must be one of uniform, zeros \(got 'mean'\)"):
        load_vectors(path, vocab, missing="mean")


def test_load_vectors_of_special_words_only(write):
    vectors, share = load_vectors(write("dog 1 1\n"), Vocab())
    assert (vectors.shape, share) == ((5, 2), 0)


def test_load_vectors_accepts(write):
    for text in ["2 2\ndog 1 2\ncat 3 4\n", "dog 1 2 \r\ncat 3 4 \r\n", "dog 1 2\n. . . 5 6\ncat 3 4"]:
        vectors, _ = load_vectors(write(text), Vocab(["dog", "cat"]))
        assert vectors[5:].tolist() == [[1, 2], [3, 4]]


def test_load_vectors_refuses_damaged_files(write):
    for text, message in [
        ("", ":1: no vector in the file"),
        ("2 2\n", ":1: no vector in the file"),
        ("\n", r":1: 0 values instead of some$"),
        ("dog 1 2\ncat 1\nthe 1 2\n", r":2: 1 values instead of 2 \(got 'cat'\)"),
        ("dog 1 2\ncat 1 2 3\n", r":2: 1 values too many \(got '1'\)"),
        ("dog 1 nan\n", r":1: a value of 'dog' is not a number, or out of range \(got 'nan'\)"),
        ("cat 1 2\ndog 1 1_0\n", r":2: a value of 'dog' is not a number, .* \(got '1_0'\)"),
        ("dog 1  2\n", r":1: a value of 'dog' is not a number, or out of range"),
        ("dog 1 1e99\n", r":1: a value of 'dog' is not a number, .* \(got '1e99'\)"),
        (f"dog 1 {'0' * 200_000}x\n", r":1: a value of 'dog' is not a number"),  # in linear time
        (b"d\xf6g 1 2\n", r":1: not UTF-8 at byte 1 \(got 'f6 67'\)"),
        ("cat 1 2\ndog 1", r":2: the last line is incomplete \(truncated=True .* instead of 2 \(got 'dog'\)"),
    ]:
        with pytest.raises(ValueError, match=r"vectors\.txt" + message):
            load_vectors(write(text), Vocab(["dog"]))


def test_load_vectors_leaves_out_a_truncated_line(write, caplog):
    path = write("cat 1 2\ndog 1")
    vectors, share = load_vectors(path, Vocab(["cat", "dog"]), truncated=True)
    assert share == 0.5
    assert vectors[5].tolist() == [1, 2]
    assert "vectors.txt:2: skipped the incomplete last line (word 'dog')" in caplog.text
    with pytest.raises(ValueError, match=":2: 1 values"):
        load_vectors(write("cat 1 2\ndog 1\n").rename(path.with_name("other")), Vocab(), truncated=True)


def test_vectors_of_mean_length_one(write):
    path, vocab = write("dog 3 4\ncat 0 1\n"), Vocab(["dog", "cat", "zebra"])
    own, _ = load_vectors(path, vocab)
    unit, share = load_vectors(path, vocab, scale="unit")
    assert share == pytest.approx(2 / 3)
    assert unit[5:7].norm(dim=1).mean().item() == pytest.approx(1)
    torch.testing.assert_close(unit[5:7] * 3, own[5:7])
    assert torch.equal(unit[7:], own[7:])  # drawn, not found
    assert torch.equal(unit[:5], own[:5])
    nothing, _ = load_vectors(path, Vocab(["zebra"]), missing="zeros", scale="unit")
    assert not nothing.any()
    with pytest.raises(ValueError, match="'scale' must be one of file, unit .got 'mean'"):
        load_vectors(path, vocab, scale="mean")
