"""Figure and SVG: what can be read from their elements, and that nothing depends on the clock."""

import ast
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import workbench.show
from kit.build.sample_results import make_finding, make_result, make_row, network_result
from kit.face.screen import label
from workbench.show.plots.divergence import STYLES, divergence_figure, divergence_svg
from workbench.show.words import STATUS_WORDS

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_no_module_of_the_package_imports_pyplot():
    for path in Path(workbench.show.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", "") or "", *(alias.name for alias in node.names)]
                assert not any("pyplot" in name or "pylab" in name for name in names), path


def test_svg_is_well_formed_and_the_same_every_time():
    result = network_result(120, 2)
    first = divergence_svg(result)
    ET.fromstring(first)
    assert divergence_svg(result) == first
    assert not re.search(r"\d{4}-\d\d-\d\d|matplotlib\.org|Matplotlib v", first)


def test_points_are_an_image_and_text_stays_text():
    svg = divergence_svg(network_result(334, 2))
    assert len(re.findall(r"<image ", svg)) <= 10
    assert 'xlink:href="data:image/png;base64,' in svg.replace("\n", "")
    words = texts(svg)
    assert {"NaN, Inf", "exactly 0", "not measured", "10⁻³", "iteration 1"} <= set(words)
    assert any("ReLU-op90" in word for word in words)


def test_the_legend_counts_every_matched_row():
    result = network_result(334, 2)
    matched = [row.status for row in result.rows if row.match_rule]
    words = {
        label("show/status-count", n=matched.count(status), status=label(STATUS_WORDS[status]))
        for status in set(matched)
    }
    assert words <= set(texts(divergence_svg(result)))
    assert set(matched) <= set(STYLES)


@pytest.mark.slow
def test_twenty_thousand_rows_make_a_small_file():
    assert len(divergence_svg(network_result(20_000, 4))) < 300_000


def test_no_rows_say_so_and_draw_nothing():
    words = texts(divergence_svg(make_result(rows=())))
    assert label("show/figure-empty") in words


@pytest.mark.parametrize(
    "name", ["a/$x_2$ & <b>", "a/\x00\x07bell", "a/权重\udcff", "a/" + "x" * 300]
)
def test_names_cannot_break_the_drawing(name):
    row, finding = make_row(op_name=name), make_finding(op_name=name)
    ET.fromstring(divergence_svg(make_result(rows=(row,), findings=(finding,))))


def test_color_and_shape_both_tell_a_status_apart():
    colors = {style[1] for style in STYLES.values()}
    shapes = {style[0] for style in STYLES.values()}
    assert len(shapes) >= 4
    assert len(colors) >= 4


@pytest.mark.parametrize("background", ["#ffffff", "#12161c"])
@pytest.mark.parametrize("status", STYLES)
def test_colors_stand_out_from_light_and_dark_backgrounds(status, background):
    def luminance(color):
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(STYLES[status][1]), luminance(background)))
    assert (high + 0.05) / (low + 0.05) >= 3


def test_a_figure_shows_itself_in_both_formats_of_a_notebook():
    result = network_result(120, 2)
    svg, png = divergence_figure(result)._repr_svg_(), divergence_figure(result)._repr_png_()
    ET.fromstring(svg)
    assert "DejaVu" not in svg  # not every reader's machine has that font
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert divergence_figure(result)._repr_svg_() == svg
    assert divergence_figure(result)._repr_png_() == png


def test_what_is_shown_is_the_figure_as_it_is_now():
    figure = divergence_figure(network_result(120, 2))
    figure.axes[0].set_title("mine", loc="left")
    assert "mine" in texts(figure._repr_svg_())
