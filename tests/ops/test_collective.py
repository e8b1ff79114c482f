"""Family collective: kernels, gradients and refusals."""

import numpy as np
from ops.collective_cases import CASES

from kit.oracle.families import FamilyTests, X, spec
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.ops import run_kernel
from workbench.ops.rows.collective import ROWS

REFUSED = [
    ("AlltoAll", (X,), {"split_count": 2, "split_dim": 1}, "graph/multiple",
     {"subject": "size of dimension 1", "of": 2, "got": 3}),
    ("AlltoAll", (X,), {"split_count": 0}, "graph/integer", {"subject": "split_count", "least": 1, "got": 0}),
    ("AlltoAll", (X,), {"concat_dim": 3}, "graph/axis", {"subject": "concat_dim", "got": 3}),
    ("AlltoAll", (spec(),), {}, "graph/rank", {"least": 1, "got": ()}),
]  # fmt: skip


class TestCollective(FamilyTests):
    rows, cases, refused, ranks = ROWS, CASES, REFUSED, True
    inferred = (
        ("Receive", [], {"shape": (2, 3), "dtype": "float16"}, [TensorSpec("float16", (2, 3))]),
        ("Send", [TensorSpec("float32", (4,))], {"dest_rank": 1}, [TensorSpec("float32", (4,))]),
    )


def test_what_is_received_is_what_was_sent():
    (found,) = run_kernel("Receive", [np.arange(3)], {"shape": (3,)})
    assert found.tolist() == [0, 1, 2]
    with refused("run/nothing-received", GraphError):
        run_kernel("Receive", [], {"shape": (3,)})
