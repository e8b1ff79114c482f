"""ONNX models as graphs of our operators: `read_onnx`. Needs the extra ``[onnx]``.

In: a `Graph` of the dialect onnx (`workbench.graph_files.onnx`). Out: a `Graph` of ours, of opsets 7 to 28, with
shapes inferred and constants computed on the way. What has no operators of ours is named, all of it at once.
An operator that is the same under another name is the ``onnx`` of its row, any other a row of `table.CONVERTERS`;
`tests/ops/test_onnx_node_tests.py` runs onnx's own node tests through here.
"""

from __future__ import annotations

from workbench.network.onnx.lower import read_onnx

__all__ = ["read_onnx"]
