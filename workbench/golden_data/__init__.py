"""Golden data of a model: every intermediate tensor, written under the names that msaccucmp expects.

In: an ONNX model, or a module of PyTorch or Keras, and inputs. Out: a folder of ``op_name.output_index.timestamp.npy``
and a `Golden`. An engine that runs ONNX nodes is a row of `engines.ENGINES`, a framework one of `modules.FRAMEWORKS`.
A model is run node by node (`walk`), so that memory holds one node's tensors, and what one cannot do stops no other.
"""

from __future__ import annotations

from workbench.golden_data.feeds import given_in, inputs_of, shapes_of
from workbench.golden_data.golden import golden
from workbench.golden_data.result import Golden

__all__ = ["Golden", "given_in", "golden", "inputs_of", "shapes_of"]
