"""The quick way through a header says what the careful one says, and nothing breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.arrays import sources_of as sources
from kit.build.small_dumps import save_container
from kit.oracle.dump_files import field
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.container import list_tensors
from workbench.dump.payload.extent import spec_of

FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3)


def specs(path):
    found = list_tensors(str(path))
    return [
        (io, slot, spec_of(extent))
        for io, side in (("input", found.inputs), ("output", found.outputs))
        for slot, extent in enumerate(side)
    ]


TENSORS = st.lists(
    st.tuples(
        st.sampled_from(["float16", "int8", "bfloat16", "int4", "bool"]),
        st.lists(st.integers(0, 5), max_size=4),
        st.sampled_from([0, 2, 1, 77]),
        st.integers(0, 2**64 - 1),
    ),
    max_size=4,
)


@given(inputs=TENSORS, outputs=TENSORS)
def test_tensors_come_as_they_were_described(tmp_path_factory, inputs, outputs):
    """Numbers by an own table; 77 is no format."""
    path = tmp_path_factory.mktemp("one") / "Add.a.1.2.3"
    words = {0: "NCHW", 1: "NHWC", 2: "ND", 77: "format 77"}

    def tensors(described):
        return [
            (np.ones(shape, np.int8), {"dtype": dtype, "format": number, "address": address or 1})
            for dtype, shape, number, address in described
        ]

    save_container(path, tensors(inputs), tensors(outputs))
    assert specs(path) == [
        (io, slot, (dtype, tuple(shape), words[number]))
        for io, described in (("input", inputs), ("output", outputs))
        for slot, (dtype, shape, number, _) in enumerate(described)
    ]


@pytest.mark.parametrize("length", [5_000, 100_000], ids=["first", "second"])
def test_a_header_longer_than_what_is_read_of_it_at_once_is_read(tmp_path, length):
    path = save_container(tmp_path / "a", [FLOATS] * 3, [FLOATS], op_name="n" * length)
    assert [spec.shape for _, _, spec in specs(path)] == [(2, 3)] * 4


INT = field(1, 7) + field(3, field(1, b"\x01"))
INSIDE = field(1, 7) + field(5, b"\x07\0\0\0")
BY_HAND = {
    "a buffer and a workspace beside a tensor": (
        field(3, INT + field(6, 4)) + field(5, field(3, 8)) + field(8, field(3, 2)),
        (9).to_bytes(4, "little") + bytes(10), [((1,), [9], None)],
    ),
    "data inside the header": (field(3, INT + field(5, b"\x07\0\0\0")), b"", [((1,), [7], None)]),
    "original operators with a slot, without a name, none": (
        b"".join(
            field(3, INSIDE + more)
            for more in (field(4, field(1, b"scope/bias") + field(2, 3)), field(4, field(2, 1)), b"")
        ),
        b"", [((1,), [7], ("scope/bias", 3)), ((1,), [7], None), ((1,), [7], None)],
    ),
    "an open dimension": (
        field(3, field(1, 7) + field(3, field(1, b"\xff" * 9 + b"\x01\x02")) + field(6, 8)),
        b"\1\0\0\0\2\0\0\0", [((2,), [1, 2], None)],
    ),
}  # fmt: skip
"""Header field by field, payload; of each output its shape, its elements, and whose tensor it is."""


@pytest.mark.parametrize(("header", "payload", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_headers_made_by_hand_say_what_lies_behind_them(tmp_path, header, payload, expected):
    path = tmp_path / "a"
    path.write_bytes(len(header).to_bytes(8, "little") + header + payload)
    found = sources(path)
    assert [(one.spec().shape, one.array().tolist(), one.place.origin) for one in found] == expected
    assert {one.spec().dtype for one in found} == {"int32"}


@pytest.mark.parametrize("number", [3, 4, 29])
@pytest.mark.parametrize("shape", [(2, -1, 4, 5, 16), (2**63, 1), ()])
def test_impossible_device_shapes_stay_as_they_are(tmp_path, number, shape):
    path = save_container(
        tmp_path / "a", [], [(FLOATS, {"format": number, "shape": shape, "original_shape": (2, 3)})]
    )
    ((_, _, spec),) = specs(path)
    assert spec.format in ("NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ")


@pytest.mark.parametrize("original", [(), (9, 9, 9, 9)])
def test_data_stay_as_they_lie_where_the_hosts_shape_does_not_fit(tmp_path, original):
    there = np.ones((2, 1, 4, 5, 16), np.float16)
    more = {"format": 3, "original_shape": original}
    path = save_container(tmp_path / "a", [], [(there, more)])
    assert specs(path) == [("output", 0, ("float16", there.shape, "NC1HWC0"))]


def test_types_that_comparisons_do_not_know_come_as_float32(tmp_path):
    path = save_container(tmp_path / "a", [], [(np.int8([1, -2]), {"dtype": "int2"})])
    (source,) = sources(path)
    array = source.array()
    assert (array.dtype, array.tolist()) == (np.float32, [1, -2])


def test_a_link_is_refused(tmp_path):
    save_container(tmp_path / "real", [], [FLOATS])
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with refused("core/unreadable", FormatError, place=str(tmp_path / "link")):
        list_tensors(str(tmp_path / "link"))
