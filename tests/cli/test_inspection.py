"""What `inspect` prints of facts made by hand, a code a line."""

import pytest

from workbench.cli.inspection import dump_text
from workbench.core.words import Message

NOTHING = {
    "path": "out", "layout": "mindspore", "tensors": 2, "ranks": [0], "iterations": [0], "graphs": [],
    "anomalies": [], "skipped": {}, "overflows": [], "failures": [], "changes": [],
}  # fmt: skip
RECORD = {"op_name": "Mul", "iteration": 1, "path": "Opdebug.1", "unit": "AIV", "status": [32]}
RECORD |= {"meaning": []}
FAILED = {"op_name": "MatMul", "scene": "brief", "path": "exception_info.1"}
TENSOR = {"role": "input", "dtype": "", "shape": None, "bytes": 512}
CHANGE = {"iteration": 0, "after": "A", "evidence": ["first", "second"], "needed": False}
MODEL = {"kind": "model", "op_name": "net", "detail": "one of two"}
WHERE = {"name": "Mul", "iteration": 1, "unit": "AIV"}
NO_FILE = Message("cli/overflow-file", path="Opdebug.1")

CASES = {
    "a model of several": (
        {"anomalies": [MODEL]},
        [Message("cli/tree-model", name="net", detail="one of two"), Message("cli/tree-kind", count=1, kind="model")],
    ),
    "what was skipped": ({"skipped": {"unknown-name": 2}}, [Message("cli/tree-kind", count=2, kind="unknown-name")]),
    "an overflow by its bits": ({"overflows": [RECORD]}, [Message("cli/overflow-status", **WHERE, status=["0x20"])]),
    "an overflow by its meaning": (
        {"overflows": [RECORD | {"meaning": ["floating-point overflow"]}]},
        [Message("cli/overflow", **WHERE, meaning=["floating-point overflow"])],
    ),
    "a record of nothing": (
        {"overflows": [RECORD | {"op_name": "", "unit": ""}]},
        [Message("cli/overflow-none", name=NO_FILE, iteration=1, unit="")],
    ),
    "memory that is used again": (
        {"changes": [CHANGE]}, [Message("cli/reused-memory", iteration=0, after="A", evidence="first"), "  second"],
    ),
    "a failure whose tensor is not described": (
        {"failures": [FAILED | {"arguments": [TENSOR]}]},
        [
            Message("cli/failed", name="MatMul", scene="brief", path="exception_info.1"),
            f"  {Message('cli/failed-shapeless', role='input', dtype=Message('cli/no-dtype'), bytes=512)}",
        ],
    ),
    "a line without an operator": (
        {"at": {"file": "net.py", "line": 7, "operators": []}},
        [Message("cli/at-none", file="net.py", line=7, operators=0)],
    ),
    "a line with an operator": (
        {"at": {"file": "net.py", "line": 7, "operators": [{"op_name": "Add", "code": "x + y", "files": ["a.npy"]}]}},
        [Message("cli/at", file="net.py", line=7, operators=1), "  Add  x + y", "    a.npy"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_lines(case):
    facts, lines = CASES[case]
    assert list(map(str, dump_text(NOTHING | facts)[2:])) == list(map(str, lines))


def test_long_lists_are_cut():
    lines = dump_text(NOTHING | {"overflows": [RECORD] * 13})
    assert len(lines) == 2 + 10 + 1
    assert lines[-1] == Message("cli/more", count=3)
