"""Inputs that are nearly right: bytes, lines and plain values, each with one to four changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

# What separates, nests or ends something in one of the formats, and characters that texts are wrong with.
PIECES = (
    b"\0 \r \n \t \v \f , ; : = | | # \" ' ` \\ / - _ . .1 1-2 1-1 0 -1 + * ( ) (( )) [ ] { } < > <a> </a> "
    b"& &amp; <!-- --> <![CDATA[ <?xml?> <!DOCTYPE null true false NaN Infinity -0 1e999 0x1 1_0 ~ &a *a << "
    b"--- !!python/object:os.system ... % @ ? $ ${HOME} %s"
).split(b" ")
UNICODE = (
    "\ufeff \u2028 \u2029 \u0085 \u00a0 \u200b \u202e \u0301 \u0661 \uff11 \ufffd \ufffe \U0001f415 "
    "\U000e0041 ẞ ﬁ İ ё ſ"
)
ODD = [piece for piece in PIECES if piece] + [sign.encode() for sign in UNICODE.split(" ") if sign]
ODD += [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b" " * 300, b"\n\n", b"\r\n"]
NUMBERS = [
    b"0",
    b"-1",
    b"1" * 25,
    b"9" * 5000,
    b"2147483648",
    b"18446744073709551616",
    b"1e308",
    b"1e400",
    b"nan",
]
Change = Callable[[random.Random, bytes], bytes]


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def flip(rng: random.Random, data: bytes) -> bytes:
    """Another bit somewhere."""
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def cut(rng: random.Random, data: bytes) -> bytes:
    """Ends early, or begins late."""
    at = _place(rng, data)
    return data[:at] if rng.random() < 0.8 else data[at:]


def drop(rng: random.Random, data: bytes) -> bytes:
    """Without a part."""
    at = _place(rng, data)
    return data[:at] + data[at + rng.choice((1, 1, 2, 8, 40)) :]


def repeat(rng: random.Random, data: bytes) -> bytes:
    """A part twice, or many times."""
    at = _place(rng, data)
    part = data[at : at + rng.choice((1, 4, 30, 200))]
    return data[:at] + part * rng.choice((2, 2, 2, 50, 1000)) + data[at + len(part) :]


def insert(rng: random.Random, data: bytes) -> bytes:
    """Something odd somewhere."""
    at = _place(rng, data)
    return data[:at] + rng.choice(ODD) + data[at:]


def number(rng: random.Random, data: bytes) -> bytes:
    """Another number in the place of a digit."""
    digits = [at for at, sign in enumerate(data) if 48 <= sign < 58]
    if not digits:
        return insert(rng, data)
    at = rng.choice(digits)
    return data[:at] + rng.choice(NUMBERS) + data[at + 1 :]


def lines(rng: random.Random, data: bytes) -> bytes:
    """Two lines in each other's place, one twice, or one less."""
    rows = data.split(b"\n")
    one, other = rng.randrange(len(rows)), rng.randrange(len(rows))
    kind = rng.randrange(3)
    if kind == 0:
        rows[one], rows[other] = rows[other], rows[one]
    elif kind == 1:
        rows.insert(other, rows[one])
    else:
        del rows[one]
    return b"\n".join(rows)


def cells(rng: random.Random, data: bytes) -> bytes:
    """A cell of a line in another's place, or empty."""
    rows = data.split(b"\n")
    at, sign = rng.randrange(len(rows)), rng.choice((b"\t", b",", b" ", b'"'))
    parts = rows[at].split(sign)
    parts[rng.randrange(len(parts))] = rng.choice((b"", *parts, rng.choice(ODD)))
    rows[at] = sign.join(parts)
    return b"\n".join(rows)


def deep(rng: random.Random, data: bytes) -> bytes:
    """Nested as deep as no stack is."""
    at, sign = _place(rng, data), rng.choice((b"[", b"(", b'{"a":', b"<a>", b"- ", b"[[", b"(S "))
    return data[:at] + sign * rng.choice((30, 3000, 30_000)) + data[at:]


def long_word(rng: random.Random, data: bytes) -> bytes:
    """A word longer than any message."""
    at = _place(rng, data)
    return data[:at] + b"x" * 20_000 + data[at:]


CHANGES: tuple[Change, ...] = (flip, cut, drop, repeat, insert, number, lines, cells)


def mutate(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the inputs with one to four changes; seldom with very deep nesting, a very long
    word, or a part of another one."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(CHANGES)(rng, data)
    chance = rng.random()
    if chance < 0.002:
        return deep(rng, data)
    if chance < 0.004:
        return long_word(rng, data)
    if chance < 0.02:
        other = rng.choice(seeds)
        return data[: _place(rng, data)] + other[_place(rng, other) :]
    return data


# -- plain values, as checkpoints, caches and configurations hold them -------------------------------------

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf")),
    *(
        "",
        "x",
        "\0",
        "\ud800",
        "\u202e",
        "a" * 5000,
        "../../x",
        "/etc/passwd",
        "<script>",
        "=1+1",
        b"",
        b"\xff",
    ),
    *([], {}, [[]], {"": None}, [None] * 5, [1, "a"], {"a": {"b": []}}, (), (1, 2)),
)


def change_value(rng: random.Random, value: Any, *, json: bool = False) -> Any:
    """The value with one thing in it another one: of another kind, left out, twice, or below another key.

    Args:
        rng: Random numbers.
        value: Lists, dicts and plain values.
        json: Only what JSON can hold.
    """
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice([*value])
        if rng.random() < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if rng.random() < 0.05:
            return {("x" if name == key else name): part for name, part in value.items()}
        return {**value, key: change_value(rng, value[key], json=json)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at, chance = rng.randrange(len(value)), rng.random()
        if chance < 0.1:
            return value[:at] + value[at + 1 :]
        if chance < 0.2:
            return [*value, value[at]]
        return [*value[:at], change_value(rng, value[at], json=json), *value[at + 1 :]]
    while True:
        other = rng.choice(VALUES)
        if not json or not isinstance(other, (bytes, tuple)):
            return other
