"""Conversion between formats, against loops over every element that follow the written index formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.cases import examples
from kit.memory import peak_below
from kit.oracle.dump_files import counted, device_by_loops, grouped_by_loops, matrix_by_loops
from kit.words import refused
from workbench.core.device_shape import arrange, device_shape
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.transdata import host_chunks, to_device, to_host

HOSTS_4D = ("NCHW", "NHWC", "HWCN", "CHWN")
HOSTS_5D = ("NCDHW", "NDHWC", "DHWCN", "DHWNC")
FOUR_D = ("NC1HWC0", "NC1HWC0_C04", "FRACTAL_Z", "FRACTAL_Z_C04", "C1HWNCoC0")
FIVE_D = ("NDC1HWC0", "FRACTAL_Z_3D")
LANES = (2, 4, 8, 16, 32, 64)
"""C0 of all kinds: by the name of a format, stated, of two-byte, one-byte and half-byte types."""


def same(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert found.flags.c_contiguous
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()


# ---------------------------------------------------------------- known places


@pytest.mark.parametrize(
    ("device", "shape", "index", "place"),
    [
        ("NC1HWC0", (2, 20, 4, 5), (1, 17, 2, 3), 1169),
        ("FRACTAL_Z", (32, 32, 3, 3), (17, 20, 1, 2), 7444),
        ("FRACTAL_Z", (1, 3, 2, 2), (0, 2, 1, 1), 770),
        ("FracNZ", (32, 48), (17, 33), 1297),
    ],
)
def test_known_elements_lie_where_the_vendor_puts_them(device, shape, index, place):
    host = "NCHW" if len(shape) == 4 else "ND"
    array = counted(shape)
    assert to_device(array, host, device).flat[place] == array[index]


@pytest.mark.parametrize(
    ("cin", "cout", "groups", "together", "shape"),
    [
        (4, 32, 4, 4, (6, 2, 16, 16)),
        (1, 32, 32, 16, (12, 1, 16, 16)),
        (8, 24, 3, 2, (12, 1, 16, 16)),
    ],
)
def test_known_groups_fill_the_known_blocks(cin, cout, groups, together, shape):
    plan = arrange((cout, cin, 2, 3), "NCHW", "FRACTAL_Z", "float16", groups=groups)
    assert plan.side_by_side == together
    found = device_shape((cout, cin, 2, 3), "NCHW", "FRACTAL_Z", "float16", groups=groups)
    assert found == shape
    assert device_shape((cout, cin, 2, 3), "NCHW", f"FRACTAL_Z:{groups}", "float16") == shape


# ---------------------------------------------------------------- against the loops


NATIVE = sorted(DTYPES.keys() - {"hifloat8"})
"""Dtypes that arrays have: hifloat8 is held as float32, which has other lanes."""


def lanes_of(dtype):
    """C0 of a dtype, from the table of the platforms."""
    return {"int8": 32, "uint8": 32, "int4": 64}.get(dtype, 32 if "float8" in dtype else 16)


@st.composite
def four_or_five_axes(draw):
    device = draw(st.sampled_from(FOUR_D + FIVE_D))
    host = draw(st.sampled_from(HOSTS_5D if device in FIVE_D else HOSTS_4D))
    c0 = 4 if device == "NC1HWC0_C04" else 16
    if device not in ("NC1HWC0_C04", "FRACTAL_Z_C04"):
        c0 = draw(st.sampled_from(LANES))
    channels = draw(st.integers(1, 4 if device == "FRACTAL_Z_C04" else 2 * c0 + 2))
    sizes = {"N": draw(st.integers(1, 18)), "C": channels}
    sizes |= {axis: draw(st.integers(1, 4 if c0 <= 16 else 2)) for axis in "HWD"}
    return device, host, c0, tuple(sizes[axis] for axis in host)


@settings(max_examples=examples(80))
@given(four_or_five_axes())
def test_every_element_lies_where_the_formula_says_and_padding_is_zero(case):
    device, host, c0, shape = case
    array = counted(shape)
    there = to_device(array, host, device, c0=c0)
    same(there, device_by_loops(array, host, device, c0))
    assert device_shape(shape, host, device, "int32", c0=c0) == there.shape
    same(to_host(there, device, host, shape), array)
    same(to_host(there.ravel(), device, host, shape, c0=c0), array)


@pytest.mark.parametrize("device", FOUR_D + FIVE_D)
@pytest.mark.parametrize("which", range(4))
def test_every_pair_of_formats_is_converted(device, which):
    host = (HOSTS_5D if device in FIVE_D else HOSTS_4D)[which]
    sizes = {"N": 17, "C": 3 if device == "FRACTAL_Z_C04" else 18, "H": 2, "W": 3, "D": 2}
    array = counted([sizes[axis] for axis in host])
    there = to_device(array, host, device)
    same(there, device_by_loops(array, host, device, 16))
    same(to_host(there, device, host, array.shape), array)


@settings(max_examples=examples(60))
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 20),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from(LANES),
    st.sampled_from(["NCHW", "HWCN", "NHWC", "NCDHW", "DHWCN"]),
)
def test_groups_share_blocks_as_the_formula_says(cin, cout, groups, plane, c0, host):
    depth, height, width = plane if "D" in host else (1, *plane[1:])
    array = counted((groups * cout, cin, depth, height, width))
    device = "FRACTAL_Z_3D" if "D" in host else "FRACTAL_Z"
    given_array = array.transpose(["NCDHW".index(a) for a in host]) if "D" in host else None
    if given_array is None:
        given_array = array[:, :, 0].transpose(["NCHW".index(axis) for axis in host])
    there = to_device(given_array, host, device, groups=groups, c0=c0)
    same(there, grouped_by_loops(array, groups, c0))
    same(to_host(there, device, host, given_array.shape, groups=groups), given_array)


@settings(max_examples=examples(80))
@given(
    st.sampled_from(NATIVE),
    four_or_five_axes(),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_elements_of_every_dtype_are_moved_as_bits(name, case, groups, seed):
    device, host, _, shape = case
    groups = groups if device in ("FRACTAL_Z", "FRACTAL_Z_3D") else 1
    shape = tuple(
        size * groups if axis == "N" else size for axis, size in zip(host, shape, strict=True)
    )
    storage = DTYPES[name].storage
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, storage.itemsize), np.uint8)
    array = (bits & 1 if name == "bool" else bits).view(storage)[..., 0]
    c0 = {"NC1HWC0_C04": 4, "FRACTAL_Z_C04": 16}.get(device) or lanes_of(name)
    numbers = counted(shape)  # 0 in the padding
    if groups > 1:
        whole = numbers.transpose([host.index(axis) for axis in "NCDHW" if axis in host])
        whole = whole if len(host) == 5 else whole[:, :, None]
        places = grouped_by_loops(whole, groups, c0)
    else:
        places = device_by_loops(numbers, host, device, c0)
    there = to_device(array, host, device, groups=groups)
    same(there, np.concatenate([np.zeros(1, storage), array.ravel()])[places])
    same(to_host(there, device, host, shape, groups=groups), array)


@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(LANES),
)
def test_matrices_are_laid_in_columns_of_blocks(lead, rows, columns, c0):
    array = counted((*lead, rows, columns))
    there = to_device(array, "ND", "FRACTAL_NZ", c0=c0)
    same(there, matrix_by_loops(array, c0))
    same(to_host(there, "FRACTAL_NZ", "ND", array.shape), array)
    if c0 == 64:
        return  # no format's name fixes it
    named = to_device(array, "ND", f"FRACTAL_NZ_C0_{c0}")
    same(named, there)
    same(to_host(named, f"FRACTAL_NZ_C0_{c0}", "ND", array.shape), array)


@pytest.mark.parametrize("host", ["NCHW", "NHWC", "HWCN", "ND", "DefaultFormat"])
def test_matrices_are_the_last_two_axes_of_any_format(host):
    array = counted((2, 3, 5, 18))
    same(to_device(array, host, "FRACTAL_NZ"), matrix_by_loops(array, 16))


def test_two_axes_without_names_become_weights_of_a_matrix():
    array = counted((20, 18))
    expected = device_by_loops(array.reshape(1, 1, 20, 18), "HWCN", "FRACTAL_Z", 16)
    same(to_device(array, "ND", "FRACTAL_Z"), expected)
    same(to_host(expected, "FRACTAL_Z", "ND", (20, 18)), array)


# ---------------------------------------------------------------- few axes


@pytest.mark.parametrize("count", [1, 5, 16, 17, 40])
def test_a_vector_is_one_row_a_column_or_unchanged(count):
    array = counted((count,))
    row = matrix_by_loops(array.reshape(1, count), 16)
    same(to_device(array, "ND", "FRACTAL_NZ"), row)
    same(to_host(row, "FRACTAL_NZ", "ND", (count,)), array)
    assert to_host(array, "FRACTAL_NZ", "ND", (count,)) is array
    if count > 16:
        column = matrix_by_loops(array.reshape(count, 1), 16)
        same(to_host(column, "FRACTAL_NZ", "ND", (count,)), array)
        pieces = list(host_chunks(column, "FRACTAL_NZ", "ND", (count,), limit=12))
        same(np.concatenate(pieces), array)


def test_a_scalar_is_unchanged_in_matrices():
    scalar = np.array(3, np.float32)
    assert device_shape((), "ND", "FRACTAL_NZ", "float32") == ()
    assert to_device(scalar, "ND", "FRACTAL_NZ") is scalar
    assert to_host(scalar, "FRACTAL_NZ", "ND", ()) is scalar


@pytest.mark.parametrize(
    ("host", "device", "shape", "full"),
    [
        ("NCHW", "NC1HWC0", (), (1, 1, 1, 1)),
        ("NCHW", "NC1HWC0", (5,), (1, 5, 1, 1)),
        ("NHWC", "NC1HWC0", (5,), (1, 1, 1, 5)),
        ("HWCN", "FRACTAL_Z", (5,), (1, 1, 5, 1)),
        ("CHWN", "FRACTAL_Z", (5,), (5, 1, 1, 1)),
        ("NCHW", "NC1HWC0", (5, 3), (1, 5, 3, 1)),
        ("NHWC", "NC1HWC0", (5, 3), (1, 5, 3, 1)),
        ("HWCN", "FRACTAL_Z", (5, 3), (1, 1, 5, 3)),
        ("CHWN", "FRACTAL_Z", (5, 3), (1, 1, 5, 3)),
        ("NCHW", "C1HWNCoC0", (5, 3, 2), (1, 5, 3, 2)),
        ("NHWC", "NC1HWC0", (5, 3, 2), (1, 5, 3, 2)),
        ("HWCN", "FRACTAL_Z", (5, 3, 2), (1, 5, 3, 2)),
        ("CHWN", "NC1HWC0", (5, 3, 2), (1, 5, 3, 2)),
        ("NCDHW", "NDC1HWC0", (5, 3), (1, 1, 1, 5, 3)),
        ("NDHWC", "NDC1HWC0", (5, 3), (1, 1, 1, 5, 3)),
        ("DHWNC", "FRACTAL_Z_3D", (5, 3), (1, 1, 1, 5, 3)),
        ("DHWCN", "FRACTAL_Z_3D", (5, 3, 2, 4), (1, 5, 3, 2, 4)),
        ("NCDHW", "NDC1HWC0", (5, 3, 2, 4), (1, 5, 3, 2, 4)),
    ],
)
def test_missing_axes_stand_where_ge_puts_them(host, device, shape, full):
    array = counted(shape)
    there = to_device(array, host, device)
    same(there, device_by_loops(array.reshape(full), host, device, 16))
    same(to_host(there, device, host, shape), array)


@pytest.mark.parametrize(
    ("device", "shape", "full"),
    [
        ("NC1HWC0", (5,), (1, 5, 1, 1)),
        ("NC1HWC0", (2, 5, 3, 4), (2, 5, 3, 4)),
        ("FRACTAL_Z", (5, 3), (1, 5, 3, 1)),
        ("NDC1HWC0", (5, 3), (1, 5, 3, 1, 1)),
        ("NDC1HWC0", (2, 5, 3, 4, 2), (2, 5, 3, 4, 2)),
    ],
)
def test_the_default_format_of_mindspore_has_channels_first(device, shape, full):
    array = counted(shape)
    host = "NCHW" if len(full) == 4 else "NCDHW"
    same(
        to_device(array, "DefaultFormat", device),
        device_by_loops(array.reshape(full), host, device, 16),
    )


def test_pictures_have_depth_one_in_the_formats_of_volumes():
    array = counted((2, 18, 3, 4))
    expected = device_by_loops(array.reshape(2, 18, 1, 3, 4), "NCDHW", "NDC1HWC0", 16)
    same(to_device(array, "NCHW", "NDC1HWC0"), expected)
    same(to_host(expected, "NDC1HWC0", "NCHW", array.shape), array)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5)])
@pytest.mark.parametrize("device", FOUR_D)
def test_empty_tensors_stay_empty(device, shape):
    array = counted(shape)
    there = to_device(array, "NCHW", device)
    assert not there.any()
    same(to_host(there, device, "NCHW", shape), array)
    assert [piece.shape for piece in host_chunks(there, device, "NCHW", shape)] == [shape]


def test_empty_matrices_and_empty_groups_stay_empty():
    assert to_device(counted((0, 5)), "ND", "FRACTAL_NZ").shape == (1, 0, 16, 16)
    there = to_device(counted((4, 0, 2, 2)), "NCHW", "FRACTAL_Z", groups=4)
    assert to_host(there, "FRACTAL_Z", "NCHW", (4, 0, 2, 2), groups=4).shape == (4, 0, 2, 2)


# ---------------------------------------------------------------- host formats


@pytest.mark.parametrize("source", HOSTS_4D + HOSTS_5D)
@pytest.mark.parametrize("target", HOSTS_4D + HOSTS_5D)
def test_host_formats_are_permuted(source, target):
    array = counted(range(2, 2 + len(source)))
    if len(source) != len(target):
        with refused(("core/axes-differ", "core/rank")):
            to_device(array, source, target)
        return
    there = to_device(array, source, target)
    for index in np.ndindex(*array.shape):
        at = dict(zip(source, index, strict=True))
        assert there[tuple(at[axis] for axis in target)] == array[index]
    assert there.shape == device_shape(array.shape, source, target, "int32")
    assert there.flags.c_contiguous
    same(to_host(there, target, source, array.shape), array)


@pytest.mark.parametrize(
    ("source", "target"), [("NCHW", "NCHW"), ("ND", "NHWC"), ("NC1HWC0", "NC1HWC0"), ("MD", "MD")]
)
def test_nothing_is_copied_where_nothing_moves(source, target):
    array = counted((2, 3, 4, 5))
    assert to_device(array, source, target) is array
    assert to_host(array, source, target, array.shape) is array


def test_two_and_one_named_axes_are_permuted_too():
    assert to_device(counted((2, 3)), "NC", "CN").tolist() == [[1, 4], [2, 5], [3, 6]]
    vector = counted((3,))
    assert to_device(vector, "NCHW", "NHWC") is vector
    same(to_device(counted((2, 3, 4)), "NCHW", "NHWC"), counted((2, 3, 4)).transpose(1, 2, 0))


# ---------------------------------------------------------------- dtypes, order in memory, chunks


@pytest.mark.parametrize("order", [">f4", "<f4", ">c16", ">i2"])
def test_the_byte_order_is_kept(order):
    array = counted((2, 18, 3, 4)).astype(order)
    there = to_device(array, "NCHW", "NC1HWC0")
    same(there, device_by_loops(array.real.astype(int), "NCHW", "NC1HWC0", 16).astype(order))
    same(to_host(there, "NC1HWC0", "NCHW", array.shape), array)


def test_views_in_any_order_are_read():
    array = counted((6, 36, 8, 4))[::2, ::-2, :, ::-1].transpose(0, 1, 3, 2)
    for device in ("NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"):
        same(to_device(array, "NCHW", device), to_device(array.copy(), "NCHW", device))
    weights = counted((18, 8, 2, 3)).transpose(0, 3, 1, 2)[:, :, ::2]
    same(
        to_device(weights, "NCHW", "FRACTAL_Z_C04"),
        device_by_loops(weights, "NCHW", "FRACTAL_Z_C04", 16),
    )


def test_planes_larger_than_a_strip_are_whole():
    array = counted((3, 17, 130, 70), np.int16)
    there = to_device(array, "NCHW", "NC1HWC0")
    blocks = np.zeros((3, 32, 130, 70), np.int16)
    blocks[:, :17] = array
    assert (there == np.stack([blocks[:, :16], blocks[:, 16:]], 1).transpose(0, 1, 3, 4, 2)).all()
    same(to_host(there, "NC1HWC0", "NCHW", array.shape), array)


@settings(max_examples=examples(60))
@given(four_or_five_axes(), st.integers(1, 4000))
def test_chunks_are_the_whole_in_order(case, limit):
    device, host, c0, shape = case
    array = counted(shape)
    there = to_device(array, host, device, c0=c0)
    pieces = list(host_chunks(there, device, host, shape, limit=limit))
    same(np.concatenate(pieces), array)
    row = array[:1].nbytes
    if device != "FRACTAL_Z_C04":
        least = row * (c0 if host[0] == "C" else 1)
        assert all(piece.nbytes <= max(limit, least) for piece in pieces)


@pytest.mark.parametrize(
    ("host", "device", "shape", "groups"),
    [
        ("ND", "FRACTAL_NZ", (50, 33), 1),
        ("ND", "FRACTAL_NZ", (4, 50, 33), 1),
        ("ND", "FRACTAL_NZ", (50,), 1),
        ("NCHW", "FRACTAL_Z", (32, 4, 3, 3), 4),
        ("NCHW", "NHWC", (4, 5, 6, 7), 1),
    ],
)
def test_chunks_of_matrices_groups_and_permutations(host, device, shape, groups):
    array = counted(shape)
    there = to_device(array, host, device, groups=groups)
    pieces = list(host_chunks(there, device, host, shape, groups=groups, limit=400))
    same(np.concatenate(pieces), array)


@pytest.mark.parametrize("device", ["NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"])
def test_nothing_but_the_result_is_allocated(device):
    array = np.ones((64, 30, 20, 20), np.float32)
    there = to_device(array, "NCHW", device)
    spare = 100_000
    with peak_below(there.nbytes + spare):
        to_device(array, "NCHW", device)
    with peak_below(array.nbytes + spare):
        to_host(there, device, "NCHW", array.shape)
    with peak_below(400_000 + spare):
        for piece in host_chunks(there, device, "NCHW", array.shape, limit=200_000):
            assert piece.nbytes <= 200_000


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("shape", "host", "device", "options", "code", "values"),
    [
        ((2, 3), "ND", "FRACTAL_ZN_RNN", {}, "no-conversion", {"host": "ND", "device": "FRACTAL_ZN_RNN"}),
        ((2, 3, 4, 5), "NC1HWC0", "FRACTAL_Z", {}, "no-conversion", {"host": "NC1HWC0", "device": "FRACTAL_Z"}),
        ((2, 3, 4, 5), "NC1HWC0", "NCHW", {}, "no-conversion", {"host": "NC1HWC0", "device": "NCHW"}),
        ((2, 3, 4, 5, 6), "NCDHW", "NC1HWC0", {}, "no-conversion", {"host": "NCDHW"}),
        ((2, 3), "NC", "NC1HWC0", {}, "no-conversion", {"host": "NC"}),
        ((2, 3, 4, 5, 6), "NCHW", "NC1HWC0", {}, "rank", {"format": "NCHW", "most": 4, "got": 5}),
        ((2, 3, 4, 5, 6), "DefaultFormat", "NC1HWC0", {}, "rank", {"most": 4, "got": 5}),
        ((2, 3, 4), "ND", "NC1HWC0", {}, "axes-unnamed", {"format": "NC1HWC0", "expected": 4, "got": 3}),
        ((2, 3, 4, 5), "NCHW", "DHWCN", {}, "axes-differ", {"source": "NCHW", "rank": 4}),
        ((2, 3), "NCHW", "NHWC", {}, "axes-differ", {"source_axes": "CH", "target_axes": "HW"}),
        ((2, 5, 3, 3), "NCHW", "FRACTAL_Z_C04", {}, "channels", {"format": "FRACTAL_Z_C04", "got": 5}),
        ((2, 3, 3, 3), "NCHW", "FRACTAL_Z_C04", {"c0": 2}, "c0-too-small", {"got": 2}),
        ((2, 5, 3, 3), "NCHW", "NC1HWC0_C04", {"c0": 16}, "c0-of-format", {"expected": 4, "got": 16}),
        ((2, 5), "ND", "FRACTAL_NZ_C0_8", {"c0": 16}, "c0-of-format", {"expected": 8, "got": 16}),
        ((30, 5, 3, 3), "NCHW", "FRACTAL_Z", {"groups": 4}, "groups-divide", {"rows": 30, "got": 4}),
        ((30, 5, 3, 3), "NCHW", "FRACTAL_Z", {"groups": 0}, "groups", {"got": 0}),
        ((30, 5, 3, 3), "NCHW", "FRACTAL_Z", {"groups": -2}, "groups", {"got": -2}),
        ((3, 5, 3, 3), "NCHW", "NC1HWC0", {"c0": 12}, "c0", {"got": 12}),
        ((3, 5, 3, 3), "NCHW", "NC1HWC0", {"c0": 0}, "c0", {"got": 0}),
        ((3, -1, 3, 3), "NCHW", "NC1HWC0", {}, "shape", {"got": (3, -1, 3, 3)}),
        ((1,) * 25, "ND", "FRACTAL_NZ", {}, "shape", {"most": 24}),
        ((2**62, 2**62), "ND", "FRACTAL_NZ", {}, "shape-memory", {"itemsize": 1}),
        ((2, 3), "ND", "NHCW", {}, "choice", {"subject": "format", "got": "NHCW"}),
    ],
)  # fmt: skip
def test_what_has_no_device_shape_is_refused(shape, host, device, options, code, values):
    with refused(f"core/{code}", FormatError, **values):
        device_shape(shape, host, device, "float16", **options)


@pytest.mark.parametrize(
    ("shape", "device", "host", "whole", "code", "values"),
    [
        ((2, 2, 4, 5, 16), "NC1HWC0", "NCHW", (2, 40, 4, 5), "device-shape", {"expected": (2, 3, 4, 5, 16)}),
        ((2, 2, 4, 5, 16), "NC1HWC0", "NCHW", (2, 20, 5, 4), "device-shape", {}),
        ((2, 2, 4, 5, 7), "NC1HWC0", "NCHW", (2, 14, 4, 5), "c0", {"got": 7}),
        ((100,), "NC1HWC0", "NCHW", (2, 20, 4, 5), "device-shape", {"got": (100,)}),
        ((4, 4), "FRACTAL_NZ", "ND", (2**40, 2**40), "shape-memory", {}),
        ((4, 4), "FRACTAL_NZ", "ND", (2**30, 2**30), "device-shape", {}),
        ((0,), "FRACTAL_NZ", "ND", (0, 2**62), ("shape-memory", "device-shape"), {}),
        ((2, 3, 4, 5), "NCHW", "NHWC", (2, 3, 4, 5), "host-shape", {"expected": (2, 3, 4, 5), "got": (2, 4, 5, 3)}),
        ((5,), "FRACTAL_NZ", "ND", (), "device-shape", {"expected": (), "shape": ()}),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(shape, device, host, whole, code, values):
    codes = (code,) if isinstance(code, str) else code
    with refused(tuple(f"core/{one}" for one in codes), FormatError, **values):
        to_host(np.zeros(shape, np.float16), device, host, whole)


@pytest.mark.parametrize(
    "array",
    [
        np.array([["a"]]),
        np.array([[None]]),
        np.zeros((1, 1), "V3"),
        np.zeros((1, 1), "M8[s]"),
        np.zeros((1, 1), [("x", "O")]),
    ],
)
def test_arrays_without_numbers_are_refused(array):
    with refused("core/array-dtype"):
        to_device(array, "ND", "FRACTAL_NZ")
    with refused("core/array-dtype"):
        to_host(array, "FRACTAL_NZ", "ND", (1, 1))
