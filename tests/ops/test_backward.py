"""What differences cannot show of gradients: places where slopes jump, chance, refusals.

The numbers where slopes jump are those of MindSpore 2.10 on a CPU.
"""

import numpy as np
import pytest

from kit.build.programs import program_for
from kit.oracle.loops import X, Y
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.network.symbolic import record_all
from workbench.network.tracer import trace
from workbench.npu.cube import CUBE
from workbench.npu.rounding import ROUND
from workbench.npu.runner import run_npu
from workbench.ops import OPS, infer_outputs, run_kernel

EDGES = [
    ("ReluGrad", [1, 1, 1], [0, 5, np.nan], [0, 1, 0]),
    ("ReLU6Grad", [1, 1, 1, 1, 1], [0, 6, 7, -1, 3], [0, 1, 0, 0, 1]),
    ("HSwishGrad", [1, 1, 1, 1], [-3, 3, 0, 4], [-0.5, 1.5, 0.5, 1]),
    ("HSigmoidGrad", [6, 6, 6, 6], [-3, 3, 0, 4], [0, 0, 1, 0]),
    ("EluGrad", [1, 1, 1], [0, -0.5, 2], [1, 0.5, 1]),
]


def run(name, *inputs, **settings):
    return run_kernel(
        name, [np.asarray(array) for array in inputs], {**OPS[name].defaults, **settings}
    )


@pytest.mark.parametrize(("name", "dout", "x", "want"), EDGES)
def test_slopes_where_they_jump_are_mindspores(name, dout, x, want):
    (got,) = run(name, np.array(dout, float), np.array(x, float))
    np.testing.assert_array_equal(got, want)


def test_prelu_counts_zero_to_the_weight_as_mindspore_does():
    dout, x = np.ones((1, 3)), np.array([[0.0, 1.0, -2.0]])
    dx, dw = run("PReLUGrad", dout, x, np.array([0.25, 0.25, 0.5]))
    assert dx.tolist() == [[0.25, 1.0, 0.5]]
    assert dw.tolist() == [0.0, 0.0, -2.0]


def test_not_a_number_takes_the_gradient_of_its_window():
    x = np.array([[[[1.0, np.nan], [3.0, 2.0]]]])
    (got,) = run("MaxPoolGrad", x, x[..., :1, :1], np.full((1, 1, 1, 1), 5.0), kernel_size=2)
    assert got.tolist() == [[[[0.0, 5.0], [0.0, 0.0]]]]


def test_a_slice_with_negative_strides_is_put_back_in_its_order():
    (got,) = run(
        "StridedSliceGrad", [[1.0, 2.0]], shapex=(2, 5), begin=(1, 3), end=(2, 0), strides=(1, -2)
    )
    assert got.tolist() == [[0, 0, 0, 0, 0], [0, 2, 0, 1, 0]]


def test_dropout_keeps_as_many_as_it_should_and_the_sum():
    x = np.ones((400, 500))
    out, mask = run("Dropout", x, keep_prob=0.7, Seed0=3)
    assert np.unique(mask).tolist() == [0.0, 1.0]
    assert mask.mean() == pytest.approx(0.7, abs=0.006)  # six deviations of 200,000 draws
    np.testing.assert_array_equal(out, mask / 0.7)
    assert abs(np.corrcoef(mask[:, 0], mask[:, 1])[0, 1]) < 0.3


@pytest.mark.parametrize("other", [{"Seed0": 4}, {"Seed1": 1}])
def test_dropout_depends_on_both_seeds_and_on_nothing_else(other):
    x = np.ones((20, 20))
    first = run("Dropout", x, Seed0=3)
    again = run("Dropout", (2 * x).astype(np.float32), Seed0=3)
    np.testing.assert_array_equal(first[1], again[1])
    assert (run("Dropout", x, **{"Seed0": 3} | other)[1] != first[1]).any()


def test_dropout_hands_the_gradient_to_what_it_kept():
    out, mask = run("Dropout", X, keep_prob=0.25)
    (dx,) = run("DropoutGrad", Y, mask, keep_prob=0.25)
    np.testing.assert_array_equal(dx, np.where(out == 0, 0, Y * 4))


@pytest.mark.parametrize("label", [-1, 4])
def test_a_class_that_does_not_exist_is_refused(label):
    with refused("run/out-of-range", GraphError, subject="labels", low=0, high=4, got=label):
        run("SparseSoftmaxCrossEntropyWithLogits", np.zeros((2, 4)), np.array([0, label]))


def test_a_segment_that_does_not_exist_is_refused():
    with refused("run/out-of-range", GraphError, subject="segment_ids", high=2, got=2):
        run("UnsortedSegmentSum", X, np.array([0, 2]), num_segments=2)


def test_the_loss_of_a_certain_network_neither_overflows_nor_vanishes():
    x = np.array([[800.0, -800.0]])
    with np.errstate(over="raise", invalid="raise"):
        (loss,) = run("SparseSoftmaxCrossEntropyWithLogits", x, np.array([1]))
        (slope,) = run("SparseSoftmaxCrossEntropyWithLogits", x, np.array([1]), is_grad=True)
    assert loss == 1600.0
    assert slope.tolist() == [[1.0, -1.0]]


def test_the_cube_sums_the_gradient_of_a_weight_by_sixteen_pixels():
    """2048 + 1 is lost in float16, unless sixteen pixels come in one block."""
    dout = np.ones((1, 1, 1, 32), np.float32)
    x = np.zeros((1, 1, 1, 32), np.float32)
    x[0, 0, 0, 0], x[0, 0, 0, 16:] = 2048, 0.25
    settings = {**OPS["Conv2DBackpropFilter"].defaults, "filter_size": (1, 1, 1, 1)}
    assert CUBE["Conv2DBackpropFilter"]([dout, x], settings, ROUND["float16"])[0].item() == 2052
    x = x[..., ::-1].copy()
    x[0, 0, 0, :16], x[0, 0, 0, -1] = 0, 2048
    x[0, 0, 0, 1::16] = 0.25
    assert CUBE["Conv2DBackpropFilter"]([dout, x], settings, ROUND["float16"])[0].item() == 2048


def spec(*shape, dtype="float32"):
    return TensorSpec(dtype, shape)


def weight_gradient(dout, x):
    (dw,) = record_all("Conv2DBackpropFilter", dout, x, (3, 4, 3, 3), pad_mode="same", stride=1)
    return dw


def test_a_device_reads_halves_and_writes_the_gradient_of_a_weight_as_float32():
    """What float16 would flush to zero stays: 2^-30 here."""
    graph = trace(weight_gradient, spec(1, 3, 4, 4), spec(1, 4, 4, 4))
    feeds = dict.fromkeys((p.name for p in graph.parameters), np.float32(2**-15))
    feeds = {p.name: np.full(p.spec.shape, feeds[p.name]) for p in graph.parameters}
    (op,) = graph.ops
    found = {
        (record.key.io, record.key.slot): record.source.data
        for record in run_npu(graph, feeds, profile="910a")
        if record.key.op_name == op.name
    }
    assert found["output", 0].dtype == np.float32
    assert found["output", 0][0, 0, 1, 1] == 16 * 2.0**-30


def test_a_compiled_gradient_of_a_weight_lies_as_the_weight_does():
    graph = trace(weight_gradient, spec(1, 3, 4, 4), spec(1, 4, 4, 4))
    program = program_for(graph, "mindspore-ge", "910a")
    (op,) = [op for op in program.graph.ops if op.op_type == "Conv2DBackpropFilter"]
    assert [one.format for one in op.device_inputs[:2]] == ["NC1HWC0", "NC1HWC0"]
    assert [one.dtype for one in op.device_inputs[:2]] == ["float16", "float16"]
    assert (op.device_outputs[0].format, op.device_outputs[0].dtype) == ("FRACTAL_Z", "float32")


def test_moments_stay_float32_when_batch_normalization_is_lowered():
    def network(dout, x, *moments):
        return record_all("BatchNormGrad", dout, x, *moments, True, 1e-5, 0)

    graph = trace(network, spec(2, 4, 3, 3), spec(2, 4, 3, 3), *[spec(4)] * 4)
    program = program_for(graph, "mindspore-ge", "910a", "force_fp16")
    (op,) = [op for op in program.graph.ops if op.op_type == "BatchNormGrad"]
    assert [one.dtype for one in op.device_inputs[:6]] == ["float16"] * 2 + ["float32"] * 4
    assert [one.dtype for one in op.device_outputs] == ["float16", "float32", "float32"]


IMAGE, SMALL = spec(2, 4, 8, 8), spec(2, 4, 4, 4)
WINDOW = {"kernel_size": 2, "strides": 2}
SEQUENCE = [spec(3, 2, 5), spec(9, 16), spec(16)]
REFUSED = [
    ("ReluGrad", (spec(2, 3), spec(2, 4)), {}, "graph/shapes-differ", {"subject": "inputs", "got": ((2, 3), (2, 4))}),
    ("ReluGrad", (spec(2), spec(2, dtype="float16")), {},
     "graph/dtypes-differ", {"subject": "inputs", "got": ("float32", "float16")}),
    ("BiasAddGrad", (spec(4),), {}, "graph/rank", {"subject": "dout", "least": 2, "got": (4,)}),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 4, 3)},
     "graph/layout", {"subject": "input and filter_size", "expected": "NCHW, OIHW"}),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 3, 1, 1)},
     "graph/channels", {"weight": (4, 3, 1, 1), "group": 1, "expected": 3, "got": 4}),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 4, 3, 3)},
     "graph/shape", {"subject": "dout", "expected": (2, 4, 6, 6), "got": (2, 4, 8, 8)}),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (3, 2, 1, 1), "group": 2},
     "graph/divisor", {"subject": "group", "whole": 3, "got": 2}),
    ("MaxPoolGrad", (IMAGE, IMAGE, SMALL), WINDOW,
     "graph/shape", {"subject": "out", "expected": (2, 4, 4, 4), "got": (2, 4, 8, 8)}),
    ("AvgPoolGrad", (IMAGE, SMALL, IMAGE), WINDOW,
     "graph/shape", {"subject": "dout", "expected": (2, 4, 4, 4), "got": (2, 4, 8, 8)}),
    ("MaxPoolGrad", (spec(2, 3),) * 3, WINDOW,
     "graph/layout", {"subject": "input", "expected": "NCHW", "got": (2, 3)}),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(2, 3), spec(2)), {},
     "graph/dtype-integer", {"subject": "labels", "got": "float32"}),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(2, 3), spec(3, dtype="int32")), {},
     "graph/shape", {"subject": "labels", "expected": (2,), "got": (3,)}),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(0, 3), spec(0, dtype="int32")), {},
     "graph/layout", {"subject": "features", "expected": "(samples, classes)", "got": (0, 3)}),
    ("SoftmaxCrossEntropyWithLogits", (spec(2, 3, 4),) * 2, {},
     "graph/layout", {"subject": "features", "expected": "(samples, classes)", "got": (2, 3, 4)}),
    ("PReLUGrad", (spec(2, 3), spec(2, 3), spec(2)), {},
     "graph/shape-or", {"subject": "weight", "expected": [(1,), (3,)], "got": (2,)}),
    ("PReLUGrad", (spec(2, 4), spec(2, 3), spec(3)), {},
     "graph/shape", {"subject": "dy", "expected": (2, 3), "got": (2, 4)}),
    ("LayerNormGrad", (spec(2, 3), spec(2, 3), spec(2, 1), spec(2, 1), spec(2)), {},
     "graph/shape", {"subject": "gamma", "expected": (3,), "got": (2,)}),
    ("LayerNormGrad", (spec(2, 3), spec(2, 3), spec(2), spec(2, 1), spec(3)), {},
     "graph/shape", {"subject": "variance", "expected": (2, 1), "got": (2,)}),
    ("RmsNormGrad", (spec(2, 3), spec(2, 3), spec(2, 1), spec(2)), {},
     "graph/shape-last", {"subject": "gamma", "whole": (2, 3), "got": (2,)}),
    ("RmsNormGrad", (spec(2, 3), spec(2, 3), spec(2), spec(3)), {},
     "graph/shape", {"subject": "rstd", "expected": (2, 1), "got": (2,)}),
    ("GroupNormGrad", (IMAGE, IMAGE, *[spec(2, 2)] * 2, spec(4)), {"num_groups": 3},
     "graph/divisor", {"subject": "num_groups", "whole": 4, "got": 3}),
    ("GroupNormGrad", (IMAGE, IMAGE, *[spec(2, 4)] * 2, spec(4)), {"num_groups": 2},
     "graph/shape", {"subject": "mean", "expected": (2, 2), "got": (2, 4)}),
    ("GroupNormGrad", (spec(2), spec(2), *[spec(2)] * 3), {"num_groups": 1},
     "graph/rank", {"subject": "x", "least": 2, "got": (2,)}),
    ("BatchNormGrad", (IMAGE, IMAGE, *[spec(4)] * 3, spec(3)), {},
     "graph/shape", {"subject": "reserve", "expected": (4,), "got": (3,)}),
    ("BatchNormGrad", (spec(4), spec(4), *[spec(4)] * 4), {},
     "graph/rank", {"subject": "x", "least": 2, "got": (4,)}),
    ("ResizeBilinearGrad", (IMAGE, spec(2, 3, 4, 4)), {},
     "graph/resized", {"grads": (2, 4, 8, 8), "image": (2, 3, 4, 4)}),
    ("ResizeBilinearGrad", (IMAGE, spec(2, 4, 0, 4)), {},
     "graph/resized", {"grads": (2, 4, 8, 8), "image": (2, 4, 0, 4)}),
    ("StridedSliceGrad", (spec(2, 3),),
     {"shapex": (4, 4), "begin": (0, 0), "end": (2, 2), "strides": (1, 1)},
     "graph/shape", {"subject": "dy", "expected": (2, 2), "got": (2, 3)}),
    ("StridedSliceGrad", (spec(2),),
     {"shapex": (1 << 20, 1 << 20), "begin": (0,), "end": (1,), "strides": (1,)},
     "graph/sizes", {"subject": "shapex", "got": (1048576, 1048576)}),
    ("SliceGrad", (spec(2, 3), spec(4, 4)), {"begin": (3, 0), "size": (2, 3)},
     "graph/slice-outside", {"whole": (4, 4), "begin": (3, 0), "size": (2, 3)}),
    ("PadV3Grad", (spec(2, 3),), {"paddings": (1,)}, "graph/paddings", {"got": (1,)}),
    ("PadV3Grad", (spec(2, 3),), {"paddings": (1, 2)},
     "graph/paddings-large", {"axis": 1, "shape": (2, 3), "mode": "reflect", "got": (1, 2)}),
    ("PadV3Grad", (spec(2, 5),), {"paddings": (1, 2), "mode": "mirror"},
     "core/choice", {"subject": "mode", "got": "mirror"}),
    ("GatherDGradV2", (spec(2, 3), spec(2, 3, dtype="int32"), spec(2, 2)), {"dim": 1},
     "graph/shape", {"subject": "dout", "expected": (2, 3), "got": (2, 2)}),
    ("UnsortedSegmentSum", (spec(2, 3), spec(3, dtype="int32")), {"num_segments": 2},
     "graph/shape-first", {"subject": "segment_ids", "whole": (2, 3), "got": (3,)}),
    ("UnsortedSegmentSum", (spec(2, 3), spec(2, dtype="int32")), {"num_segments": 0},
     "graph/integer", {"subject": "num_segments", "least": 1, "got": 0}),
    ("ScatterNd", (spec(2, 3, dtype="int32"), spec(2)), {"shape": (4, 4)}, "graph/index-rows", {"got": (2, 3)}),
    ("ScatterNd", (spec(2, 1, dtype="int32"), spec(2)), {"shape": (4, 4)},
     "graph/shape", {"subject": "updates", "expected": (2, 4), "got": (2,)}),
    ("ScatterNd", (spec(2, 1, dtype="int32"), spec(2)), {"shape": (-4,)},
     "graph/sizes", {"subject": "shape", "got": (-4,)}),
    ("Unstack", (spec(2, 3),), {"num": 3},
     "graph/axis-count", {"subject": "num", "axis": 0, "shape": (2, 3), "expected": 2, "got": 3}),
    ("Unstack", (spec(0, 3),), {}, "graph/empty-axis", {"got": (0, 3)}),
    ("FillV2", (spec(1),), {"shape": (2,)}, "graph/shape", {"subject": "value", "expected": (), "got": (1,)}),
    ("Dropout", (spec(2),), {"keep_prob": 0}, "graph/probability", {"subject": "keep_prob", "got": 0}),
    ("Dropout", (spec(2),), {"Seed1": 0.5}, "graph/integer-any", {"subject": "Seed1", "got": 0.5}),
    ("DynamicRNNGrad", (*SEQUENCE, *[spec(3, 2, 4)] * 13), {},
     "graph/shape", {"subject": "init_h", "expected": (2, 4), "got": (3, 2, 4)}),
    ("DynamicRNNGrad", (spec(3, 2), *SEQUENCE[1:], *[spec(2)] * 13), {},
     "graph/layout", {"subject": "x, w and b", "expected": "(T, B, I), (I + H, 4H), (4H,)"}),
    ("LSTMGrad", (spec(3, 2, 5), *[spec(1, 2, 4)] * 2, spec(160, 1, 1), *[spec(3, 2, 4)] * 7),
     {"hidden_size": 4}, "graph/shape", {"subject": "h", "expected": (1, 2, 4), "got": (3, 2, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "specs", "settings", "code", "values"), REFUSED)
def test_inputs_that_do_not_fit_are_refused_with_the_reason(name, specs, settings, code, values):
    with refused(code, GraphError, **values):
        infer_outputs(name, specs, settings)
