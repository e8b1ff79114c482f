"""ONNX models as graphs: `read_onnx`. Needs the extra ``[onnx]``.

Operators of opsets 7 to 28 become those of `workbench.ops`, one or several each
(`workbench.network.onnx.table`); shapes are inferred and constants computed on the way. What has no
operators of ours is named, all of it at once. `tests/ops/test_kernel_oracles.py` runs onnx's own
node tests through here.
"""

from __future__ import annotations

from workbench.network.onnx.lower import read_onnx

__all__ = ["read_onnx"]
