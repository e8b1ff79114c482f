"""Whether a graph read from a ``.pb`` says what another reading of the same graph says."""

from __future__ import annotations

from workbench.graph.nodes import Const, GraphRef


def same_operand(ours, theirs) -> bool:
    """Equal, or a tensor constant whose value the file does not hold."""
    if isinstance(ours, Const) and isinstance(theirs, Const):
        if theirs.dtype == "monad":
            return ours.dtype == "monad"
        if ours.value == "...":
            # what it says is right: the dialect of a dump says nothing, stages say dtype and shape
            known = (ours.dtype, ours.shape)
            return theirs.shape is not None and known in (("", None), (theirs.dtype, theirs.shape))
    return ours == theirs


def same_attr(ours, theirs) -> bool:
    """Equal, or a type: the file keeps its kind, not its bits."""
    kinds = {"Float": ("F16", "F32", "Float16", "Float32"), "Int": ("I32", "Int32")}
    return ours == theirs or theirs in kinds.get(ours if isinstance(ours, str) else "", ())


def assert_agree(ours, theirs, dialect):
    assert (ours.graph_id, ours.dialect, ours.unknown_lines) == (theirs.graph_id, dialect, 0)
    assert [(p.name, p.spec) for p in ours.parameters] == [
        (p.name, p.spec) for p in theirs.parameters
    ]
    assert ours.outputs == theirs.outputs
    assert len(ours.ops) == len(theirs.ops)
    for op, other in zip(ours.ops, theirs.ops, strict=True):
        assert op.op_type == other.op_type
        if op.op_type == "call":  # an empty message: the file says that there is a node, no more
            continue
        assert op.name == other.name
        assert len(op.inputs) == len(other.inputs)
        for mine, yours in zip(op.inputs, other.inputs, strict=True):
            graphs = isinstance(mine, GraphRef) and isinstance(yours, GraphRef)
            assert graphs or same_operand(mine, yours), op.name
        assert [s.dtype for s in op.outputs] == [s.dtype for s in other.outputs]
        assert op.attrs.keys() == other.attrs.keys()
        assert all(same_attr(op.attrs[key], other.attrs[key]) for key in op.attrs), op.name
        for mine, yours in zip(op.input_specs, other.input_specs, strict=True):
            assert mine == yours or mine is None or mine.shape is None
