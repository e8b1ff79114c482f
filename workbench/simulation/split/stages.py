"""Pipeline stages: which of them an operator is on, and what one sends to another."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.graph import Op, Param, Value
from workbench.graph.rewrite import map_operands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.graph import Graph, Operand
    from workbench.simulation.split.placed import Placed

_GRADIENT = re.compile(r"^Gradients/|/Grad_[^/]*(?=/)")
_OPTIMIZERS = ("Adam", "SGD", "ApplyMomentum", "ApplyAdam")


def stages_of(graph: Graph, count: int) -> list[int]:
    """Return the stage of every operator of a network, -1 for one that every stage runs.

    The cells of the network, in the order in which they first run, are dealt out evenly, so that a stage is a stretch
    of them. A gradient is where its operator is, a step of the optimizer where the gradient is.

    Raises GraphError if there are fewer cells than stages.
    """
    cells = _cells(graph)
    order = list(dict.fromkeys(filter(None, cells)))
    if count > max(len(order), 1):
        raise GraphError("simulation/split-stages", most=len(order), got=count)
    stage = {cell: number * count // len(order) for number, cell in enumerate(order)}
    found: list[int] = []
    for cell, op in zip(cells, graph.ops, strict=True):
        if cell:
            found.append(stage[cell])
            continue
        before = [found[one.op] for one in op.flat_inputs() if isinstance(one, Value)]
        found.append(max(before, default=-1) if op.op_type in _OPTIMIZERS else -1)
    return found


def _cells(graph: Graph) -> list[str]:
    """Return the cell of the network that each operator belongs to; "" for those of the optimizer.

    What stands between cells belongs to the one before, the loss to the last.
    """
    found: list[str] = []
    of_forward: dict[str, str] = {}
    now = ""
    for op in graph.ops:
        named = _named_cell(op)
        if "optimizer-" in op.name:
            found.append("")
        elif op.name.startswith("Gradients/"):
            found.append(named or of_forward.get(op.forward_id, now))
        else:
            now = named or now
            found.append(now)
            of_forward[op.unique_id] = now
    return found


def _named_cell(op: Op) -> str:
    """Return the cell that an operator's name has directly inside the network; "" if it has none."""
    parts = _GRADIENT.sub("", op.name).split("/")
    inside = next((n for n, one in enumerate(parts) if one.startswith("_backbone-")), -1)
    return parts[inside + 1] if 0 <= inside < len(parts) - 2 else ""


def cut_stage(placed: Placed, stages: Sequence[int], stage: int) -> tuple[list[Op], list[int]]:
    """Return the operators of one stage, and which parameters they read.

    Values of the operators are numbered anew, parameters too; what another stage computes is received where it is first
    read, and what another one reads is sent when it is there.
    """
    readers: dict[Value, set[int]] = defaultdict(set)
    for op, at in zip(placed.ops, stages, strict=True):
        for one in op.flat_inputs():
            if isinstance(one, Value) and -1 not in (at, stages[one.op]) and stages[one.op] != at:
                readers[one].add(at)
    links = sorted((one.op, one.slot, to) for one, those in readers.items() for to in those)
    tags = {link: tag for tag, link in enumerate(links)}
    return _Stage(placed, stages, stage, readers, tags).cut()


class _Stage:
    """The operators of a stage while they are put together."""

    def __init__(
        self,
        placed: Placed,
        stages: Sequence[int],
        stage: int,
        readers: dict[Value, set[int]],
        tags: dict[tuple[int, int, int], int],
    ) -> None:
        self._placed, self._stages, self._stage = placed, stages, stage
        self._readers, self._tags = readers, tags
        self._ops: list[Op] = []
        self._now: dict[Value, Value] = {}
        self._parameters: dict[int, int] = {}

    def cut(self) -> tuple[list[Op], list[int]]:
        for number, op in enumerate(self._placed.ops):
            if self._stages[number] in (-1, self._stage):
                for one in op.flat_inputs():
                    if isinstance(one, Value) and one not in self._now:
                        self._receive(one)
                self._ops.append(
                    replace(op, inputs=tuple(map_operands(o, self._new) for o in op.inputs))
                )
                own = len(self._ops) - 1
                for slot in range(len(op.outputs)):
                    self._now[Value(number, slot)] = Value(own, slot)
                for slot in range(len(op.outputs)):
                    self._send(Value(number, slot))
        return self._ops, list(self._parameters)

    def _new(self, operand: Param | Value) -> Operand:
        if isinstance(operand, Param):
            return Param(self._parameters.setdefault(operand.index, len(self._parameters)))
        return self._now[operand]

    def _receive(self, value: Value) -> None:
        spec = self._placed.ops[value.op].outputs[value.slot]
        tag = self._tags[value.op, value.slot, self._stage]
        attrs = {
            "sr_tag": tag, "src_rank": self._stages[value.op], "shape": spec.shape, "dtype": spec.dtype, "group": "pp",
        }  # fmt: skip
        self._now[value] = Value(len(self._ops))
        self._ops.append(Op(f"Default/Receive-op{tag}", "Receive", (), attrs, (spec,)))

    def _send(self, value: Value) -> None:
        for stage in sorted(self._readers.get(value, ())):
            tag = self._tags[value.op, value.slot, stage]
            attrs = {"sr_tag": tag, "dest_rank": stage, "group": "pp"}
            spec = self._placed.ops[value.op].outputs[value.slot]
            self._ops.append(
                Op(f"Default/Send-op{tag}", "Send", (self._now[value],), attrs, (spec,))
            )
