"""A weight beyond the range of float16, in a real pair of which one side alone casts to it: the cast is named."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import workbench as wb
from kit.evidence import defects

LARGE = 1e5  # float16 ends at 65,504
HEAD = "Default_head-Dense_"


@pytest.fixture(scope="module")
def overflowing(real_pairs, tmp_path_factory):
    """The transformer of float16 against that of float32, as if an element of the last weight had been large.

    Whatever reads it is computed anew in NumPy: the product and the sum behind it, in the target the casts, too.
    """
    root, pair = tmp_path_factory.mktemp("overflowing"), real_pairs["transformer_fp16"]
    trees = {
        side: shutil.copytree(getattr(pair, side), root / side) for side in ("target", "golden")
    }
    golden, target = Files(trees["golden"]), Files(trees["target"])
    x = golden.load(f"MatMul.{HEAD}MatMul-op0", "input.0")
    read = target.load(f"MatMul.{HEAD}MatMul-op0", "input.0")
    own = np.stack([np.frombuffer(read.tobytes(), np.float32), x[1]])  # see `under_a_wrong_label`
    weight = golden.load("Parameter.head_weight").copy()
    weight[3, 5] = LARGE
    with np.errstate(over="ignore"):
        narrow = weight.astype(np.float16)
    multiply(golden, x, weight)
    multiply(target, own, narrow.astype(np.float32), stored=under_a_wrong_label)
    target.save(weight, f"Cast.{HEAD}Cast-op0", "input.0")
    for number, slot in ((0, "output.0"), (1, "input.0"), (1, "output.0")):
        target.save(narrow, f"Cast.{HEAD}Cast-op{number}", slot)
    for files in (golden, target):
        files.save(weight, "Parameter.head_weight")
    return trees


def multiply(files, x, weight, stored=np.asarray):
    """Put the last layer's product and sum in their places, and what the target's last cast reads and gives."""
    files.save(weight, f"MatMul.{HEAD}MatMul-op0", "input.1")
    product = x @ weight.T
    total = product + files.load(f"BiasAdd.{HEAD}BiasAdd-op0", "input.1")
    files.save(stored(product), f"MatMul.{HEAD}MatMul-op0")
    files.save(stored(product), f"BiasAdd.{HEAD}BiasAdd-op0", "input.0")
    files.save(stored(total), f"BiasAdd.{HEAD}BiasAdd-op0")
    if files("Cast.Default_Cast-op2") is not None:
        files.save(stored(total), "Cast.Default_Cast-op2", "input.0")
        files.save(total, "Cast.Default_Cast-op2")


def under_a_wrong_label(values):
    """What MindSpore writes of float32 that it takes for float16: the first half of the bytes."""
    return np.frombuffer(values.tobytes()[: 2 * values.size], np.float16).reshape(values.shape)


class Files:
    """Tensors of a tree by the beginning of their names and their slot."""

    def __init__(self, root):
        self.paths = {path.name: path for path in root.rglob("*.npy")}

    def __call__(self, begin, slot="output.0"):
        names = [n for n in self.paths if n.startswith(f"{begin}.") and f".{slot}." in n]
        return self.paths[names[0]] if names else None

    def load(self, begin, slot="output.0"):
        return np.load(self(begin, slot))

    def save(self, values, begin, slot="output.0"):
        """Put values in the place of a tensor, in its dtype."""
        path = self(begin, slot)
        dtype = np.load(path).dtype
        path.chmod(0o600)
        np.save(path, values.astype(dtype))


def test_the_cast_that_one_side_lacks_is_named_and_not_the_product_that_reads_it(overflowing):
    """The files of the casts count anew within the layer; the graph calls that of the weight Cast-op2."""
    found = wb.compare(overflowing["target"], overflowing["golden"])
    (one,) = defects(found)
    assert (one.kind, one.op_name) == ("non-finite", "Default/head-Dense/Cast-op2")
