"""Seeded damage to a text, as a broken disk, an editor or an attacker would do it."""

from __future__ import annotations

import random

SCRAPS = (b"9" * 5000, b'"', b"\x00", b"\xff", b",NA", b"-1", b"\r", b"nan", b"=1+1", b"(", b"]")


def mutated(text: str, seed: int) -> str:
    """Return the text with a few bytes changed, dropped, doubled or put in."""
    draw = random.Random(seed)
    data = bytearray(text.encode())
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(data))
        kind = draw.randrange(4)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at : at + draw.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[: draw.randint(1, 80)]
        else:
            data[at:at] = draw.choice(SCRAPS)
        data = data or bytearray(b"x")
    return data.decode("utf-8", "replace")
