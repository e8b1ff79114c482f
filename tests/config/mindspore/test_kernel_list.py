import pytest

from workbench.config.mindspore.kernel_list import kernel_text, read_kernel, read_kernels
from workbench.core.plan import Selector


@pytest.mark.parametrize(
    ("entry", "selector"),
    [
        ("name-regex(Default/fc.+)", Selector("regex", "Default/fc.+")),
        ("Default/conv1-Conv2d/Conv2D-op12", Selector("name", "Default/conv1-Conv2d/Conv2D-op12")),
        ("Conv2D-op12", Selector("name", "Conv2D-op12")),
        ("Conv2D", Selector("type", "Conv2D")),
        ("name-regex(Default", Selector("type", "name-regex(Default")),
        (5, Selector("type", "5")),
        ("", None),
        (" ", None),
    ],
)
def test_the_three_kinds_are_told_apart(entry, selector):
    assert read_kernel(entry) == selector


def test_blanks_and_quotes_vanish_and_backslashes_stay_doubled():
    assert kernel_text('a "b" c') == "a\\b\\c"
    assert kernel_text(r"name-regex(a\.b)") == r"name-regex(a\\.b)"


def test_a_regular_expression_matches_the_whole_name():
    selector = read_kernel("name-regex(Default/fc.+)")
    assert selector.matches("Default/fc1-Dense/MatMul-op0", "MatMul")
    assert not selector.matches("Net/Default/fc1", "MatMul")
    assert not selector.matches("Default/fc", "MatMul")


def test_a_type_matches_anywhere_and_in_any_case():
    selector = read_kernel("conv2d")
    assert selector.matches("Default/Conv2DBackpropFilter-op0", "Conv2DBackpropFilter")
    assert not selector.matches("Default/conv2d/MatMul-op0", "MatMul")


def test_kinds_come_in_order_and_empty_entries_mean_everything():
    kinds = [s.kind for s in read_kernels(["Conv2D", "a/b", "name-regex(x)", ""])]
    assert kinds == ["regex", "name", "type"]
    assert read_kernels(["", " "]) == ()
