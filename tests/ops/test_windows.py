"""Padding and output sizes against the vendor's definitions and a count by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.ops.kernels.window import pad_mode, pair, window

SMALL = st.integers(1, 4)


@given(st.integers(1, 20), SMALL, SMALL, SMALL, st.integers(0, 3), st.integers(0, 3))
def test_the_output_size_is_the_number_of_windows_that_fit(
    size, kernel, stride, gap, before, after
):
    settings = {"pad_mode": "pad", "pad": (before, after, before, after), "dilation": gap}
    view = window(settings, (size, size), kernel, stride)
    last = size + before + after - ((kernel - 1) * gap + 1)
    starts = [s for s in range(0, size + before + after, stride) if s <= last]
    if starts:
        assert view.output(size, size) == (len(starts), len(starts))
    else:
        with refused("graph/window-reach", GraphError):
            view.output(size, size)


@given(st.integers(1, 30), SMALL, SMALL, SMALL)
def test_same_padding_gives_size_over_stride_with_the_odd_element_behind(size, kernel, stride, gap):
    view = window({"pad_mode": "same", "dilation": gap}, (size, size), kernel, stride)
    top, bottom, left, right = view.pads
    assert view.output(size, size) == (-(-size // stride),) * 2
    assert (top, bottom) == (left, right)
    assert bottom - top in (0, 1)
    if bottom:  # no less padding would do
        fewer = {"pad_mode": "pad", "pad": (top, bottom - 1) * 2, "dilation": gap}
        try:
            smaller = window(fewer, (size, size), kernel, stride).output(size, size)
        except GraphError:
            smaller = (0, 0)
        assert smaller[0] < -(-size // stride)


def test_the_pads_of_a_real_network():
    """conv2 and conv3 of the AlexNet that MindSpore 2.10 compiled."""
    assert window({"pad_mode": "same"}, (8, 8), (5, 5), (1, 1, 1, 1)).pads == (2, 2, 2, 2)
    assert window({"pad_mode": "same"}, (8, 8), (3, 3), (1, 1, 2, 2)).pads == (0, 1, 0, 1)


def test_a_stated_pad_list_wins():
    settings = {"pad_mode": "same", "pad_list": (3, 0, 0, 3)}
    assert window(settings, (8, 8), 3, 1).pads == (3, 0, 0, 3)


@pytest.mark.parametrize(
    ("value", "want"), [(3, (3, 3)), ((2, 3), (2, 3)), ((1, 1, 4, 5), (4, 5)), ((7,), (7, 7))]
)
def test_pairs_are_read_in_every_spelling(value, want):
    assert pair(value) == want


def test_pad_modes_are_read_in_every_spelling():
    assert [pad_mode(v) for v in ("SAME", "valid", 0, 1, 2)] == [
        "same",
        "valid",
        "pad",
        "same",
        "valid",
    ]
    known = ["pad", "same", "valid"]
    with refused("core/choice", GraphError, subject="pad_mode", got="full", known=known):
        pad_mode("full")


def test_a_pad_of_the_wrong_length_is_refused():
    with refused("graph/window-pad", GraphError, got=(1, 2)):
        window({"pad_mode": "pad", "pad": (1, 2)}, (4, 4), 3, 1)
