"""Watch mode: outputs of some operators are dumped again after others, as they lie in memory then.

GE registers every watched output a second time under the task of each operator of ``layer``
(``data_dumper.cc``), so a file after A is called by A's task and stream and by ``A_To_C``, its type is
C's. Operators that are watched themselves, and collective ones, are no such A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.dump.choice import Choice

if TYPE_CHECKING:
    from workbench.core.plan import DumpPlan
    from workbench.graph.nodes import Graph

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


def joint_name(after: str, op_name: str) -> str:
    """Return what the output of an operator is called after another one.

    >>> joint_name("net/A", "net/C"), joint_name("", "net/C")
    ('net/A_To_net/C', 'net/C')
    """
    return f"{after}{JOINT}{op_name}" if after else op_name
