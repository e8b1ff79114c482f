"""Which operators of a GE graph leave no dump file."""

from __future__ import annotations

import pytest

from workbench.core.words import Message
from workbench.graph.graph import Op
from workbench.graph_files.ge.silent_ops import NO_DUMP, why_no_dump
from workbench.graph_files.ge.text import parse_ge_text


@pytest.mark.parametrize(
    "op_type",
    ["If", "While", "For", "Case", "Data", "RefData", "Const", "StackPush", "StackPop", "Concat", "Split"],
)  # fmt: skip
def test_what_the_documents_name_is_known_from_them(op_type):
    assert not NO_DUMP[op_type].inferred
    assert NO_DUMP[op_type].source == "documents"
    assert why_no_dump(Op("x", op_type)) == NO_DUMP[op_type].reason


def test_everything_else_is_marked_as_a_conclusion():
    known = {name for name, row in NO_DUMP.items() if not row.inferred}
    assert len(known) == 11
    assert {row.source for name, row in NO_DUMP.items() if name not in known} == {
        "local engine",
        "runtime engine",
    }


@pytest.mark.parametrize(
    "op_type", ["Conv2D", "ConcatD", "SplitV", "MatMulV2", "Cast", "TransData"]
)
def test_kernels_dump(op_type):
    assert why_no_dump(Op("x", op_type)) is None


@pytest.mark.parametrize(("value", "silent"), [("true", True), ("false", False)])
def test_no_task_silences_any_type(value, silent):
    graph = parse_ge_text(
        f'graph {{ op {{ type: "ConcatD" attr {{ key: "_no_task" value {{ b: {value} }} }} }} }}'
    )
    assert why_no_dump(graph.ops[0]) == (Message("graph_files/silent-no-task") if silent else None)
