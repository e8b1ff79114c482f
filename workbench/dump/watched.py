"""Watch mode: outputs of some operators are dumped again after others, as they lie in memory then.

GE registers every watched output a second time under the task of each operator of ``layer``
(``data_dumper.cc``), so a file after A is called by A's task and stream and by ``A_To_C``, its type is
C's. Operators that are watched themselves, and collective ones, are no such A.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.selection import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
    from workbench.dump.index import Index
    from workbench.graph.graph import Graph

JOINT = "_To_"
"""What stands between the operator after which a dump is made and the one whose output it is."""

_COLLECTIVE = "Hcom"


def watch_of(plan: DumpPlan, graph: Graph) -> dict[str, tuple[str, ...]]:
    """Return the operators whose outputs a plan wants to see again, by the one after which it does.

    They are in the order of the graph. Empty for every other kind of plan.
    """
    if plan.kind != "watch":
        return {}
    blocks, asked = (graph, *graph.subgraphs), set(plan.watched)
    choice = Choice(plan, blocks)
    names = (op.name for block in blocks for op in block.ops if op.name in asked)
    watched = tuple(dict.fromkeys(names))
    if not watched:
        return {}
    return {
        op.name: watched
        for block in blocks
        for op in block.ops
        if op.name not in asked
        and not op.op_type.startswith(_COLLECTIVE)
        and choice.selects(op.name, op.op_type)
    }


def split_watched(
    index: Index, graphs: Mapping[tuple[int, int], Graph]
) -> tuple[Index, list[TensorRecord]]:
    """Part what was looked at again from operators' own tensors; ``graphs`` are by rank and graph id.

    ``A_To_C`` is an output of C after A if files of C itself lie beside it that have the same type and
    outputs alone, and if no graph has an operator of this name. Those records then have C's name, and A is
    what they come ``after``.
    """
    if JOINT.encode() not in index.op_names.data:
        return index, []
    own = {_place(record.key): record.label for record in index.records}
    names = {sanitize(op.name) for graph in graphs.values() for op in graph.ops}
    again: dict[int, TensorRecord] = {}
    for number, record in enumerate(index.records):
        key = record.key
        parts = _parted(record, own) if key.op_name not in names else None
        if parts is not None:
            after, op_name = parts
            again[number] = replace(record, key=key._replace(op_name=op_name), after=after)
    kept = [number for number in range(len(index)) if number not in again]
    return index.take(kept) if again else index, list(again.values())


def _place(key: TensorKey, op_name: str = "") -> TensorKey:
    return key._replace(op_name=op_name or key.op_name, turn=0)


def _parted(record: TensorRecord, own: Mapping[TensorKey, TensorSpec]) -> tuple[str, str] | None:
    """Both names of a joint one, the second as short as possible; ``None`` if it is none."""
    key = record.key
    if key.io != "output" or _place(key._replace(io="input", slot=0)) in own:
        return None
    name, at = key.op_name, len(key.op_name)
    while (at := name.rfind(JOINT, 0, at)) > 0:
        op_name = name[at + len(JOINT) :]
        if op_name and own.get(_place(key, op_name)) == record.label:
            return name[:at], op_name
        at += len(JOINT) - 1  # two joints may share a letter
    return None


def joint_name(after: str, op_name: str) -> str:
    """Return what the output of an operator is called after another one.

    >>> joint_name("net/A", "net/C"), joint_name("", "net/C")
    ('net/A_To_net/C', 'net/C')
    """
    return f"{after}{JOINT}{op_name}" if after else op_name
