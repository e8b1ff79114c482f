"""Operators in which the ranks of a job meet: inputs are the tensors of all ranks."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np

from kit.oracle.loops import X, Y, numbers
from kit.oracle.operator_case import OperatorCase


def reduced(inputs, settings):
    function = REDUCE[settings.get("op") or settings["reduction"]]
    columns = zip(*(x.ravel().tolist() for x in inputs), strict=True)
    return [np.reshape([function(column) for column in columns], inputs[0].shape)]


def gathered(inputs, settings):
    return [np.array(list(chain.from_iterable(x.tolist() for x in inputs)))]


def scattered(inputs, settings):
    rows = reduced(inputs, settings)[0].tolist()
    count = len(rows) // settings["ranks"]
    return [np.array(rows[settings["rank"] * count :][:count])]


def exchanged(inputs, settings):
    """Element by element: where each one of a rank's part comes from."""
    ranks, rank = settings["ranks"], settings["rank"]
    given, taken = settings["split_dim"], settings["concat_dim"]
    sizes = [*inputs[0].shape]
    sizes[given] //= ranks
    part = sizes[given], sizes[taken]
    sizes[taken] *= ranks
    found = np.empty(sizes, inputs[0].dtype)
    for place in np.ndindex(*sizes):
        there = [*place]
        peer, there[taken] = divmod(place[taken], part[1])
        there[given] += rank * part[0]
        found[place] = inputs[peer][tuple(there)]
    return [found]


def sent(inputs, settings):
    """A rank that is alone keeps what it has; `test_collectives.py` has the others."""
    return inputs


REDUCE = {"sum": math.fsum, "prod": math.prod, "max": max, "min": min}

Z = numbers(2, 3, 4, seed=8)

ALL = [X, Y, Z]

THREE = {"ranks": 3, "rank": 1, "rank_size": 3}

SPLIT = {"ranks": 3, "rank": 1, "split_count": 3}

CUBES = [numbers(2, 6, 4, seed=seed) for seed in range(3)]

SIX = [numbers(6, 2, seed=seed) for seed in range(3)]


def _collectives(prefix: str, setting: str) -> dict[str, OperatorCase]:
    return {
        f"{prefix}AllReduce": OperatorCase(reduced, [(ALL, {setting: name}) for name in REDUCE]),
        f"{prefix}AllGather": OperatorCase(gathered, [(ALL, THREE)]),
        f"{prefix}ReduceScatter": OperatorCase(
            scattered, [(SIX, {**THREE, setting: name}) for name in REDUCE]
        ),
        f"{prefix}Broadcast": OperatorCase(sent, [([X, SIX[0]], {"root_rank": 0})]),
    }


LINKED = {"sr_tag": 1, "group": "2-7"}

CASES = {
    **_collectives("", "op"),
    **_collectives("Hcom", "reduction"),
    "AlltoAll": OperatorCase(
        exchanged,
        [
            (SIX, {**SPLIT, "split_dim": 0, "concat_dim": 1}),
            (SIX, {**SPLIT, "split_dim": 0, "concat_dim": 0}),
            (CUBES, {**SPLIT, "split_dim": 1, "concat_dim": -1}),
        ],
    ),
    "Send": OperatorCase(sent, [([X], {**LINKED, "dest_rank": 3})]),
    "Receive": OperatorCase(
        sent, []
    ),  # takes no tensor of its own rank: test_collective.py runs it
}
