"""Names and source lines out of what exporters leave in a model, however hostile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.onnx_models import node
from workbench.graph_files.onnx.source import frames_of as frames_of_notes
from workbench.network.onnx.names import kernel_name, safe_name

STACK = "pkg.torch.onnx.stack_trace"
TRACE = """File "/home/me/train.py", line 30, in main
    y = net(x)
File "/usr/lib/python3/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl
    return forward_call(*args, **kwargs)
File "/home/me/net.py", line 12, in forward
    x = self.conv(x)"""


def notes_of(made):
    return {entry.key: entry.value for entry in made.metadata_props}


def frames_of(made):
    return frames_of_notes(notes_of(made), made.doc_string)


def test_a_traceback_gives_its_lines_outermost_first():
    frames = frames_of(node("Conv", ["x"], ["y"], notes={STACK: TRACE}))
    assert [(f.file, f.line, f.code.strip()) for f in frames] == [
        ("/home/me/train.py", 30, "y = net(x)"),
        (
            "/usr/lib/python3/site-packages/torch/nn/modules/module.py",
            1501,
            "return forward_call(*args, **kwargs)",
        ),
        ("/home/me/net.py", 12, "x = self.conv(x)"),
    ]
    assert frames[1].library
    assert not frames[2].library


def test_a_traceback_without_code_and_one_in_the_doc_string_are_read_too():
    bare = 'File "a.py", line 1, in f\nFile "b.py", line 2\n'
    assert [
        (f.file, f.line, f.code) for f in frames_of(node("Relu", [], [], notes={STACK: bare}))
    ] == [
        ("a.py", 1, ""),
        ("b.py", 2, ""),
    ]
    made = node("Relu", [], [], doc_string=TRACE)
    assert frames_of(made)[-1].line == 12


def test_the_older_exporter_wrote_the_innermost_line_first():
    text = "/home/me/net.py(12): forward\n/x/site-packages/torch/module.py(1501): _slow_forward\n/m.py(3): <module>\n"
    assert [(f.file, f.line) for f in frames_of(node("Relu", [], [], doc_string=text))] == [
        ("/m.py", 3),
        ("/x/site-packages/torch/module.py", 1501),
        ("/home/me/net.py", 12),
    ]


def test_no_notes_are_no_lines():
    assert frames_of(node("Relu", [], [], doc_string="A ReLU (really): nice")) == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("layer1.0/conv1", "layer1.0/conv1"),
        ("/a//b/", "a/b"),
        ("../../etc/passwd", "etc/passwd"),
        ("a\nb\x00c(d)", "a_b_c_d_"),
        ("größe:0", "größe:0"),
        ("...", ""),
        ("x" * 9999, "x" * 512),
    ],
)
def test_names_are_made_safe(text, name):
    assert safe_name(text) == name


@given(st.text(max_size=60))
def test_a_safe_name_stays_inside_a_line_and_a_folder(text):
    name = safe_name(text)
    assert not name.startswith("/")
    assert ".." not in name.split("/")
    assert name.splitlines() in ([], [name])
    assert not set(name) & set(' ()"\\')


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/features/0/Conv", "/features/0/Conv"),
        ("bn.2", "bn.2"),
        ("/../../etc/passwd", "/etc/passwd"),
        ("//a", "/a"),
        ("/", "/"),
    ],
)
def test_a_kernel_keeps_the_name_of_its_node_with_the_slash_in_front(text, name):
    assert kernel_name(text) == name


@given(st.text(max_size=300))
def test_no_note_breaks_a_line_of_a_file(text):
    for made in (node("Relu", [], [], notes={STACK: text}), node("Relu", [], [], doc_string=text)):
        for frame in frames_of(made):
            assert len((frame.file + frame.code).splitlines()) <= 1


def test_long_notes_are_read_in_part():
    frames = frames_of(node("Relu", [], [], notes={STACK: 'File "a.py", line 1\n' * 100_000}))
    assert 0 < len(frames) <= 64
