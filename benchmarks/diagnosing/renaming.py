"""Runs under other names: operators called by meaningless words, and without their source lines.

What is computed stays the same; the trees of such a run say nothing of what an operator is for.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from diagnosing.runs import Run

if TYPE_CHECKING:
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op, SourceTensor

PARTS = ("Default", "Gradients")
"""First words of a name, which say what part of a step an operator belongs to; they stay."""

OWN = ("trans_", "dynamic_const_")
"""How names begin that the compiler itself gives; they stay."""

ORIGINALS = "_datadump_original_op_names"
"""The attribute in which a kernel says which operators it stands for."""


def word(name: str) -> str:
    """Another name for an operator, the same one on every side.

    >>> word("Default/conv1-Conv2d/Conv2D-op0")
    'Default/kqlqpb/ctdh-op6871'
    """
    if name.startswith(OWN):
        return name
    part = name.partition("/")[0]
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(10):
        number, letter = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[letter]
    prefix = f"{part}/" if part in PARTS else ""
    return f"{prefix}{letters[:6]}/{letters[6:]}-op{number % 10_000}"


def renamed(run: Run) -> Run:
    """The same run under other names."""
    program = run.program
    if program is not None:
        stages = {name: _graph(stage) for name, stage in program.stages.items()}
        program = replace(
            program, network=_graph(program.network), graph=_graph(program.graph), stages=stages
        )
    ops = {op.name for op in run.graph.ops}
    return replace(
        run,
        graph=_graph(run.graph),
        program=program,
        records=[_record(record, ops) for record in run.records],
    )


def _record(record: TensorRecord, ops: set[str]) -> TensorRecord:
    own = record.key.op_name
    return replace(record, key=record.key._replace(op_name=word(own) if own in ops else own))


def _graph(graph: Graph) -> Graph:
    return replace(graph, ops=tuple(map(_op, graph.ops)))


def _op(op: Op) -> Op:
    attrs = dict(op.attrs)
    if ORIGINALS in attrs:
        attrs[ORIGINALS] = tuple(map(word, attrs[ORIGINALS]))
    fused = op.fused and replace(op.fused, ops=tuple(map(_op, op.fused.ops)))
    return replace(
        op,
        name=word(op.name),
        attrs=attrs,
        unless=op.unless and word(op.unless),
        frames=(),
        fused=fused,
        provenance=tuple(map(_original, op.provenance)),
    )


def _original(one: SourceTensor | None) -> SourceTensor | None:
    return one and one._replace(op_name=word(one.op_name))
