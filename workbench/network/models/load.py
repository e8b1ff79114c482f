"""Read a network that a text names: an example, a training, a file of Python or ONNX."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError, check_seed
from workbench.core.files import is_file
from workbench.network.models.networks import MODELS
from workbench.network.models.scripts import trace_script
from workbench.network.models.trainings import TRAININGS
from workbench.network.nn.parallel import check_ranks, data_parallel
from workbench.network.tracer import trace, trace_batches

if TYPE_CHECKING:
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph, Parameter

__all__ = ["is_onnx_file", "load_graph", "read_network", "split_graph"]


def load_graph(text: str, seed: int = 0, ranks: int = 1) -> Network:
    """Return the graph that ``text`` names: a model or training, ``file.py:Name``, ``model.onnx``, a graph file.

    ``Name`` is a Cell class (built without arguments), a Cell, or a function. The file says what
    goes in: ``INPUTS``, or ``inputs()``, ``inputs(seed)`` or ``inputs(seed, iteration)`` - one array,
    or a tuple of them. Sizes that an ONNX model leaves open follow it, by their names or those of
    inputs: ``model.onnx:batch=2,image=1x3x224x224``. A graph file of another kind holds no values: inputs and weights
    come from the seed. For several ``ranks`` training steps take the mean
    of their gradients (`workbench.network.nn.parallel.data_parallel`).
    """
    check_seed(seed)
    check_ranks(ranks)
    if ranks > 1:
        with data_parallel(ranks):
            return load_graph(text, seed)
    if text in MODELS:
        network, inputs = MODELS[text](seed)
        return trace(network, *inputs, seed=seed)
    if text in TRAININGS:
        make, batch = TRAININGS[text]
        return trace_batches(make(), partial(batch, seed), text, seed)
    path, name = split_graph(text)
    if not path:
        known = sorted([*MODELS, *TRAININGS])
        raise GraphError("graph/unknown-network", got=text, known=known)
    if path.endswith(".py"):
        return trace_script(path, name, seed)
    if not is_onnx_file(path):
        if name:
            raise GraphError("graph/file-sizes", place=path, got=name)
        return _with_values(read_network(path), seed)
    from workbench.network.onnx import read_onnx

    return read_onnx(path, shapes=sizes_of(name), seed=seed)


def is_onnx_file(path: str) -> bool:
    """Whether a file is an ONNX model, by its name or else by its content."""
    if path.endswith(".onnx"):
        return True
    from workbench.graph_files.formats import format_of
    from workbench.graph_files.onnx.model import read_onnx_model

    try:
        return format_of(Path(path)).read is read_onnx_model
    except FormatError:
        return False


def _with_values(graph: Graph, seed: int) -> Graph:
    """Return a graph whose inputs and weights have values."""
    parameters = (
        one if one.default is not None else replace(one, default=_value(one, seed))
        for one in graph.parameters
    )
    return replace(graph, parameters=tuple(parameters))


def _value(parameter: Parameter, seed: int) -> object:
    """Values of the size that layers begin with, if the shape is known; a vector's are positive, as a variance is."""
    from workbench.network.onnx.lower import example_feed

    dtype, shape = parameter.spec.dtype, parameter.spec.shape
    if shape is None or min(shape, default=0) < 0 or dtype not in DTYPES:
        return None
    found = example_feed(parameter.name, dtype, shape, seed)
    if found is None or not parameter.is_weight:
        return found
    if len(shape) < 2:
        return abs(found)
    return (found / math.sqrt(math.prod(shape[1:]) or 1)).astype(found.dtype)


def read_network(path: str | Path) -> Graph:
    """Read a graph file as operators of ours: an ONNX model is lowered, any other file is read as it is.

    Raises what `read_graph` and `read_onnx` raise.
    """
    from workbench.graph_files.formats import read_graph
    from workbench.graph_files.onnx.dialect import DIALECT

    graph = read_graph(path)
    if graph.dialect != DIALECT:
        return graph
    from workbench.network.onnx import read_onnx

    return read_onnx(path)


def split_graph(text: str) -> tuple[str, str]:
    """Return the file that a graph's text names, if any, and what follows its name.

    A script is called ``.py``; every other file is taken for a model, whatever it is called.

    >>> split_graph("net.py:Net"), split_graph("a.onnx"), split_graph("a.onnx:n=1"), split_graph("b")
    (('net.py', 'Net'), ('a.onnx', ''), ('a.onnx', 'n=1'), ('', 'b'))
    """
    path, _, rest = text.rpartition(":")
    if path.endswith(".py"):
        return path, rest
    if text.endswith(".py"):  # of which class or function is not said
        return "", text
    if text.endswith(".onnx") or is_file(text):
        return text, ""
    return (path, rest) if path.endswith(".onnx") or is_file(path) else ("", text)


def sizes_of(text: str) -> dict[str, int | tuple[int, ...]]:
    """Sizes by name: ``batch=2,image=1x3x224x224``."""
    found: dict[str, int | tuple[int, ...]] = {}
    for part in filter(None, text.split(",")):
        name, _, sizes = part.rpartition("=")
        numbers = sizes.split("x")
        if not name or not all(n.isascii() and n.isdecimal() and len(n) < 10 for n in numbers):
            raise GraphError("graph/model-sizes", got=part)
        shape = tuple(int(number) for number in numbers)
        found[name] = shape if len(shape) > 1 else shape[0]
    return found
