"""What differences cannot show of gradients: places where slopes jump, chance, refusals.

The numbers where slopes jump are those of MindSpore 2.10 on a CPU.
"""

import numpy as np
import pytest

from kit.oracle.oracles_backward import X, Y
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.ops import OPS, infer_outputs
from workbench.graph.tensor import record_all
from workbench.graph.tracer import trace
from workbench.run.compile import compile_graph
from workbench.run.cube import CUBE
from workbench.run.kernels import KERNELS
from workbench.run.npu import run_npu
from workbench.run.numeric import numeric_model
from workbench.run.rounding import ROUND

EDGES = [
    ("ReluGrad", [1, 1, 1], [0, 5, np.nan], [0, 1, 0]),
    ("ReLU6Grad", [1, 1, 1, 1, 1], [0, 6, 7, -1, 3], [0, 1, 0, 0, 1]),
    ("HSwishGrad", [1, 1, 1, 1], [-3, 3, 0, 4], [-0.5, 1.5, 0.5, 1]),
    ("HSigmoidGrad", [6, 6, 6, 6], [-3, 3, 0, 4], [0, 0, 1, 0]),
    ("EluGrad", [1, 1, 1], [0, -0.5, 2], [1, 0.5, 1]),
]


def run(name, *inputs, **settings):
    return KERNELS[name](
        [np.asarray(array) for array in inputs], {**OPS[name].defaults, **settings}
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
    with pytest.raises(GraphError, match=rf"labels must be in \[0, 4\), got {label}"):
        run("SparseSoftmaxCrossEntropyWithLogits", np.zeros((2, 4)), np.array([0, label]))


def test_a_segment_that_does_not_exist_is_refused():
    with pytest.raises(GraphError, match="segment_ids must be below num_segments 2, got 2"):
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
    program = compile_graph(graph, "mindspore-ge", numeric_model("910a"))
    (op,) = [op for op in program.graph.ops if op.op_type == "Conv2DBackpropFilter"]
    assert [one.format for one in op.device_inputs[:2]] == ["NC1HWC0", "NC1HWC0"]
    assert [one.dtype for one in op.device_inputs[:2]] == ["float16", "float16"]
    assert (op.device_outputs[0].format, op.device_outputs[0].dtype) == ("FRACTAL_Z", "float32")


def test_moments_stay_float32_when_batch_normalization_is_lowered():
    def network(dout, x, *moments):
        return record_all("BatchNormGrad", dout, x, *moments, True, 1e-5, 0)

    graph = trace(network, spec(2, 4, 3, 3), spec(2, 4, 3, 3), *[spec(4)] * 4)
    program = compile_graph(graph, "mindspore-ge", numeric_model("910a", "force_fp16"))
    (op,) = [op for op in program.graph.ops if op.op_type == "BatchNormGrad"]
    assert [one.dtype for one in op.device_inputs[:6]] == ["float16"] * 2 + ["float32"] * 4
    assert [one.dtype for one in op.device_outputs] == ["float16", "float32", "float32"]


IMAGE, SMALL = spec(2, 4, 8, 8), spec(2, 4, 4, 4)
WINDOW = {"kernel_size": 2, "strides": 2}
SEQUENCE = [spec(3, 2, 5), spec(9, 16), spec(16)]
REFUSED = [
    ("ReluGrad", (spec(2, 3), spec(2, 4)), {}, "shapes of the inputs must be equal"),
    ("ReluGrad", (spec(2), spec(2, dtype="float16")), {}, "dtypes of the inputs must be equal"),
    ("BiasAddGrad", (spec(4),), {}, "rank of dout must be at least 2"),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 4, 3)}, "must be of rank 4"),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 3, 1, 1)}, "must be 3 (filter"),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (4, 4, 3, 3)}, "(2, 4, 6, 6), as"),
    ("Conv2DBackpropFilter", (IMAGE, IMAGE), {"filter_size": (3, 2, 1, 1), "group": 2}, "group"),
    ("MaxPoolGrad", (IMAGE, IMAGE, SMALL), WINDOW, "shape of out must be (2, 4, 4, 4)"),
    ("AvgPoolGrad", (IMAGE, SMALL, IMAGE), WINDOW, "shape of dout must be (2, 4, 4, 4)"),
    ("MaxPoolGrad", (spec(2, 3),) * 3, WINDOW, "must be of rank 4 (NCHW)"),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(2, 3), spec(2)), {}, "must be an integer type"),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(2, 3), spec(3, dtype="int32")), {},
     "shape of labels must be (2,)"),
    ("SparseSoftmaxCrossEntropyWithLogits", (spec(0, 3), spec(0, dtype="int32")), {}, "not empty"),
    ("SoftmaxCrossEntropyWithLogits", (spec(2, 3, 4),) * 2, {}, "must be of rank 2"),
    ("PReLUGrad", (spec(2, 3), spec(2, 3), spec(2)), {}, "shape of weight must be (1,) or (3,)"),
    ("PReLUGrad", (spec(2, 4), spec(2, 3), spec(3)), {}, "shape of dy must be (2, 3)"),
    ("LayerNormGrad", (spec(2, 3), spec(2, 3), spec(2, 1), spec(2, 1), spec(2)), {}, "of gamma"),
    ("LayerNormGrad", (spec(2, 3), spec(2, 3), spec(2), spec(2, 1), spec(3)), {}, "of variance"),
    ("RmsNormGrad", (spec(2, 3), spec(2, 3), spec(2, 1), spec(2)), {}, "must be the last axes"),
    ("RmsNormGrad", (spec(2, 3), spec(2, 3), spec(2), spec(3)), {}, "shape of rstd"),
    ("GroupNormGrad", (IMAGE, IMAGE, *[spec(2, 2)] * 2, spec(4)), {"num_groups": 3}, "num_groups"),
    ("GroupNormGrad", (IMAGE, IMAGE, *[spec(2, 4)] * 2, spec(4)), {"num_groups": 2}, "of mean"),
    ("GroupNormGrad", (spec(2), spec(2), *[spec(2)] * 3), {"num_groups": 1}, "rank of x"),
    ("BatchNormGrad", (IMAGE, IMAGE, *[spec(4)] * 3, spec(3)), {}, "shape of reserve must be (4,)"),
    ("BatchNormGrad", (spec(4), spec(4), *[spec(4)] * 4), {}, "rank of x must be at least 2"),
    ("ResizeBilinearGrad", (IMAGE, spec(2, 3, 4, 4)), {}, "must be NCHW with equal N and C"),
    ("ResizeBilinearGrad", (IMAGE, spec(2, 4, 0, 4)), {}, "must be at least 1"),
    ("StridedSliceGrad", (spec(2, 3),),
     {"shapex": (4, 4), "begin": (0, 0), "end": (2, 2), "strides": (1, 1)}, "must be (2, 2)"),
    ("StridedSliceGrad", (spec(2),),
     {"shapex": (1 << 20, 1 << 20), "begin": (0,), "end": (1,), "strides": (1,)}, "at most 2^31"),
    ("SliceGrad", (spec(2, 3), spec(4, 4)), {"begin": (3, 0), "size": (2, 3)}, "inside (4, 4)"),
    ("PadV3Grad", (spec(2, 3),), {"paddings": (1,)}, "must be pairs of sizes not below 0"),
    ("PadV3Grad", (spec(2, 3),), {"paddings": (1, 2)}, "must be smaller"),
    ("PadV3Grad", (spec(2, 5),), {"paddings": (1, 2), "mode": "mirror"}, "mode must be reflect"),
    ("GatherDGradV2", (spec(2, 3), spec(2, 3, dtype="int32"), spec(2, 2)), {"dim": 1}, "of dout"),
    ("UnsortedSegmentSum", (spec(2, 3), spec(3, dtype="int32")), {"num_segments": 2}, "first axes"),
    ("UnsortedSegmentSum", (spec(2, 3), spec(2, dtype="int32")), {"num_segments": 0}, "positive"),
    ("ScatterNd", (spec(2, 3, dtype="int32"), spec(2)), {"shape": (4, 4)}, "in [1, 2]"),
    ("ScatterNd", (spec(2, 1, dtype="int32"), spec(2)), {"shape": (4, 4)}, "must be (2, 4)"),
    ("ScatterNd", (spec(2, 1, dtype="int32"), spec(2)), {"shape": (-4,)}, "sizes not below 0"),
    ("Unstack", (spec(2, 3),), {"num": 3}, "num must be 2 (axis 0 of (2, 3)), got 3"),
    ("Unstack", (spec(0, 3),), {}, "size of the axis must be at least 1"),
    ("FillV2", (spec(1),), {"shape": (2,)}, "shape of value must be ()"),
    ("Dropout", (spec(2),), {"keep_prob": 0}, "keep_prob must be in (0, 1], got 0"),
    ("Dropout", (spec(2),), {"Seed1": 0.5}, "Seed1 must be an integer, got 0.5"),
    ("DynamicRNNGrad", (*SEQUENCE, *[spec(3, 2, 4)] * 13), {}, "shape of init_h must be (2, 4)"),
    ("DynamicRNNGrad", (spec(3, 2), *SEQUENCE[1:], *[spec(2)] * 13), {}, "must be (T, B, I)"),
    ("LSTMGrad", (spec(3, 2, 5), *[spec(1, 2, 4)] * 2, spec(160, 1, 1), *[spec(3, 2, 4)] * 7),
     {"hidden_size": 4}, "shape of h or its gradient must be (1, 2, 4)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "specs", "settings", "reason"), REFUSED)
def test_inputs_that_do_not_fit_are_refused_with_the_reason(name, specs, settings, reason):
    with pytest.raises(GraphError) as caught:
        infer_outputs(name, specs, settings)
    assert reason in str(caught.value)
