"""The quick way through a header agrees with a decoder made from the field numbers alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.oracle import dump_wire
from workbench.dump.container.blocks import Block, Container, Origin
from workbench.dump.container.header_walk import walk
from workbench.dump.container.writer import header_bytes

SIZES = st.integers(0, 300) | st.integers(0, 2**40)
DIMS = st.lists(st.integers(-1, 2**20), max_size=8).map(tuple)


@st.composite
def blocks(draw):
    part = draw(st.sampled_from(["input", "output", "buffer", "space"]))
    size = draw(SIZES.filter(bool) if part in ("input", "output") else SIZES)
    if part in ("buffer", "space"):
        return Block(part, 0, max(size, 1), type=0)
    name = draw(st.text("a/é", max_size=300))
    origin = Origin(name, 1, 2, 3) if part == "output" and name else None
    return Block(
        part, 0, size, draw(st.integers(0, 127)), draw(st.integers(0, 127)), draw(DIMS), draw(DIMS),
        sub_format=draw(st.integers(0, 300)), address=draw(st.integers(0, 2**63)), origin=origin,
    )  # fmt: skip


def told(data: bytes):
    """Kinds and bytes that the header states, by the independent decoder."""
    return summary(dump_wire.message("DumpData", data))


def in_order(header: dict) -> bool:
    """Whether the fields of every block come once and in the order of their numbers."""
    parts = [one for name in ("input", "output", "buffer", "space") for one in header.get(name, [])]
    return all(list(one["order"]) == sorted(set(one["order"])) for one in parts)


def summary(header: dict):
    kinds = {
        part: [one.get("data_type", 0) << 8 | one.get("format", 0) for one in header.get(part, [])]
        for part in ("input", "output")
    }
    parts = ("input", "output", "buffer", "space")
    payload = sum(one.get("size", 0) for part in parts for one in header.get(part, []))
    return kinds["input"], kinds["output"], payload


@given(made=st.lists(blocks(), max_size=6), name=st.text("n/", max_size=400), time=SIZES)
@settings(max_examples=200, deadline=None)
def test_what_a_device_writes_is_listed(made, name, time):
    attrs = (("key", "value" * 90),)
    order = sorted(made, key=lambda block: ("input", "output", "buffer", "space").index(block.part))
    data = header_bytes(Container(tuple(order), dump_time=time, op_name=name, attrs=attrs))
    assert walk(bytes(8) + data, 8 + len(data)) == told(data)


def test_headers_in_another_order_are_left_to_the_careful_reader():
    field = dump_wire.field
    version = field(1, b"2.0")
    tensor = {
        "size first": field(5, 4) + field(1, 7),
        "data inside": field(1, 7) + field(4, b"1234") + field(5, 4),
        "no size": field(1, 7),
        "format first": field(2, 2) + field(1, 7) + field(5, 4),
        "large number": field(1, 2000) + field(2, 2) + field(5, 4),
        "empty": b"",
    }
    headers = [version + field(4, message) for message in tensor.values()]
    headers += [field(4, field(5, 4)), field(1, b"3.0"), version + field(20, 1), version + b"\x22"]
    for data in headers:
        found = walk(bytes(8) + data, 8 + len(data))
        assert found is None, data


def test_mutations_are_listed_as_they_are_or_not_at_all():
    """A header that cannot be decoded is refused later, when one of its tensors is read."""
    rng = np.random.default_rng(7)
    block = Block("output", 0, 96, 2, 2, (6, 8), (6, 8), address=77, origin=Origin("a/b", 0, 1, 2))
    whole = header_bytes(Container((block._replace(part="input", origin=None), block), op_name="a"))
    agreed = 0
    for _ in range(3000):
        data = dump_wire.mutate(whole, rng)
        found = walk(bytes(8) + data, 8 + len(data))
        try:
            header = dump_wire.message("DumpData", data)
        except (AssertionError, IndexError, KeyError, UnicodeDecodeError):
            continue
        if found is not None and in_order(header):
            assert found == summary(header)
            agreed += 1
    assert agreed > 50
