"""What a model is fed: arrays and files that are given, and values from a seed where there are none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.core.files import is_file
from workbench.core.words import Message
from workbench.dump.formats.ge_name import INPUTS, input_files
from workbench.dump.formats.npy import NpySource
from workbench.graph_files.onnx.dialect import OPEN_SHAPES
from workbench.network.onnx.lower import LARGEST_EXAMPLE, example_feed
from workbench.network.onnx.names import safe_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.golden_data.model import OnnxSource
    from workbench.graph.graph import Parameter

    Array = NDArray[Any]
    Shapes = Mapping[str, Sequence[int]]
    Sizes = tuple[int | str, ...]
    """Sizes of an input; open ones by their names."""


_SHOWN = 80
"""Characters of what somebody has typed that an error shows."""

_TEXT = "string"
"""Type of inputs that hold texts; values for them are given in memory."""


def model_feeds(
    source: OnnxSource, inputs: Mapping[str, Any], shapes: Shapes, seed: int
) -> tuple[dict[str, Array], list[Message]]:
    """Return the value of every input of a model, and what is to be said of those that nobody gave.

    Raises GraphError for an unknown name, a shape or values that do not fit the model, or a shape that is not known;
    FormatError for a file that is no array.
    """
    stated = {one.name: _stated(source, one) for one in source.feeds}
    open_sizes = {
        size for sizes in stated.values() for size in sizes or () if isinstance(size, str)
    }
    inputs = named_inputs(inputs, stated)
    check_names("--shape", shapes, {*stated, *open_sizes} - {"?"})
    arrays = {name: input_array(name, value) for name, value in inputs.items()}
    known = {name: sizes[0] for name, sizes in shapes.items() if name not in stated}
    for given in (shapes, {name: array.shape for name, array in arrays.items()}):
        for name, shape in given.items():
            if name in stated:
                stated[name] = _fitted(name, tuple(shape), stated[name], known)
    feeds: dict[str, Array] = {}
    seeded = []
    for one in source.feeds:
        if one.name in arrays:
            feeds[one.name] = _typed(one, arrays[one.name])
        else:
            feeds[one.name] = _example(one, _known(stated[one.name], known), seed)
            seeded.append(
                Message("golden/seeded-input", name=one.name, shape=feeds[one.name].shape)
            )
    return feeds, [
        Message("golden/seeded", seed=seed, inputs=seeded, folder=INPUTS)
    ] if seeded else []


FOLDER = ""
"""Name of what is no input but a folder with files of inputs."""


def inputs_of(texts: Iterable[str]) -> dict[str, Path]:
    """Files of inputs that are spelled ``NAME=FILE.npy``, and one folder of such files under the name `FOLDER`.

    Raises GraphError for a text that is neither, or a name or folder too many.

    >>> inputs_of(["x=a.npy", "/"])
    {'': PosixPath('/'), 'x': PosixPath('a.npy')}
    """
    texts = list(texts)
    folders = [text for text in texts if os.path.isdir(text)]
    if len(folders) > 1:
        raise GraphError("golden/folder-twice", folders=folders)
    files = _pairs("golden/input-form", (text for text in texts if text not in folders))
    given = {name: Path(file) for name, file in files}
    return {FOLDER: Path(folders[0])} | given if folders else given


def given_in(lines: Iterable[str]) -> tuple[dict[str, Path], dict[str, tuple[int, ...]]]:
    """Files and shapes that lines give, as `inputs_of` and `shapes_of` do; numbers behind a name are a shape.

    >>> given_in(["x=a.npy", "y=1,3"])
    ({'x': PosixPath('a.npy')}, {'y': (1, 3)})
    """
    lines = [line.strip() for line in lines if line.strip()]
    shapes = [line for line in lines if _SHAPE_LINE.fullmatch(line)]
    return inputs_of(line for line in lines if line not in shapes), shapes_of(shapes)


_SHAPE_LINE = re.compile(r"[^=]*=[\d,]+", re.ASCII)


def named_inputs(inputs: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return inputs with the files of a folder that is among them; a file that is given itself counts.

    ``names`` are those of all inputs in order. Raises GraphError for an unknown name, or a folder without any file of
    an input.
    """
    names = list(names)
    named = {name: value for name, value in inputs.items() if name != FOLDER}
    check_names("--input", named, names)
    if FOLDER not in inputs:
        return named
    paths = {name: inputs[FOLDER] / file for name, file in input_files(names).items()}
    found = {name: path for name, path in paths.items() if is_file(path)}
    if not found:
        raise GraphError("golden/no-input-files", folder=str(inputs[FOLDER]), known=sorted(names))
    return found | named


def shapes_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Shapes that are spelled ``NAME=SIZE,SIZE``; raises GraphError as `inputs_of`.

    >>> shapes_of(["x=1,3,48,192", "batch=2"])
    {'x': (1, 3, 48, 192), 'batch': (2,)}
    """
    found: dict[str, tuple[int, ...]] = {}
    for name, text in _pairs("golden/shape-form", texts):
        sizes = text.split(",")
        if not all(size.isascii() and size.isdecimal() and len(size) < 10 for size in sizes):
            raise GraphError("golden/shape-form", got=f"{name}={text}"[:_SHOWN])
        found[name] = tuple(map(int, sizes))
    return found


def _pairs(code: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise GraphError(code, got=text[:_SHOWN])
        if name in seen:
            raise GraphError("golden/given-twice", name=name[:_SHOWN])
        seen.add(name)
        yield name, value


def check_names(option: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise GraphError for a name that an option gives and nothing has."""
    for name in given:
        if name not in known:
            raise GraphError("golden/no-such-input", option=option, got=name, known=sorted(known))


def _stated(source: OnnxSource, one: Parameter) -> Sizes | None:
    """Sizes of an input as far as the model says; ``None`` if not even their number is known."""
    if not one.spec.dtype:
        raise GraphError("graph/onnx-input-type", place=source.where, name=one.name)
    if one.spec.dtype not in (*DTYPES, _TEXT):
        raise GraphError("graph/onnx-dtype", place=source.where, name=one.name, got=one.spec.dtype)
    if one.spec.shape is not None:
        return one.spec.shape
    sizes: Sizes | None = source.graph.attrs.get(OPEN_SHAPES, {}).get(one.name)
    return sizes


def _fitted(
    name: str, got: tuple[int, ...], stated: Sizes | None, known: dict[str, int]
) -> tuple[int, ...]:
    """Return a shape that an input can have, else raise GraphError; take note of what open sizes are by it."""
    expected = got if stated is None else _known(stated, known)
    pairs = list(zip(expected, got, strict=False))
    if len(got) != len(expected) or any(size != n for size, n in pairs if isinstance(size, int)):
        raise GraphError("golden/input-shape", name=name, expected=expected, got=got)
    known.update((size, n) for size, n in pairs if isinstance(size, str) and size != "?")
    return got


def _known(stated: Sizes | None, known: Mapping[str, int]) -> Any:
    """Sizes of an input with those that are known by now in the place of their names."""
    if stated is None:
        return None
    return tuple(known.get(size, size) if isinstance(size, str) else size for size in stated)


def input_array(name: str, value: Any) -> Array:
    """Return an array that is given, or that of a file."""
    if not isinstance(value, str | Path):
        return np.asarray(value)
    if not is_file(value):
        raise GraphError("core/missing", place=f"--input {name}", got=str(value))
    return NpySource(str(value)).array()


def _typed(one: Parameter, array: Array) -> Array:
    """Return an array in the type of its input; raises GraphError if that would change a value."""
    if one.spec.dtype == _TEXT and array.dtype.kind in "OUS":
        return array.astype(object)
    kind = DTYPES[one.spec.dtype].storage
    if array.dtype == kind:
        return array
    try:
        with np.errstate(all="ignore"):
            typed = array.astype(kind)
            back, is_float = typed.astype(array.dtype), array.dtype.kind in "fc"
            if np.array_equal(back, array, equal_nan=is_float):
                return typed
    except (TypeError, ValueError):
        pass
    expected, got = one.spec.dtype, array.dtype.name
    raise GraphError("golden/input-type", name=one.name, expected=expected, got=got)


def _example(one: Parameter, shape: Sizes | None, seed: int) -> Array:
    """Values from the seed, those that `workbench.network.onnx.read_onnx` has for the same model."""
    sizes = tuple(size for size in shape or () if isinstance(size, int))
    if shape is None or len(sizes) < len(shape) or one.spec.dtype == _TEXT:
        example = ",".join(str(size) if isinstance(size, int) else "1" for size in shape or (1, 3))
        raise GraphError("golden/no-input", name=one.name, got=shape, example=example)
    negative = min(sizes, default=0) < 0
    array = (
        None
        if negative
        else example_feed(safe_name(one.name) or "input", one.spec.dtype, sizes, seed)
    )
    if array is None:
        raise GraphError("graph/sizes", subject=one.name, most=LARGEST_EXAMPLE, got=sizes)
    return array
