"""Read a network that a text names: an example, a training, a file of Python or ONNX."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError, check_seed
from workbench.core.files import is_file
from workbench.network.models.networks import MODELS
from workbench.network.models.scripts import trace_script
from workbench.network.models.trainings import TRAININGS
from workbench.network.nn.parallel import check_ranks, data_parallel
from workbench.network.tracer import trace, trace_batches

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph

__all__ = ["load_graph", "read_network", "split_graph"]


def load_graph(text: str, seed: int = 0, ranks: int = 1) -> Network:
    """Return the graph that ``text`` names: a model or training, ``file.py:Name``, ``model.onnx``.

    ``Name`` is a Cell class (built without arguments), a Cell, or a function. The file says what
    goes in: ``INPUTS``, or ``inputs()``, ``inputs(seed)`` or ``inputs(seed, iteration)`` - one array,
    or a tuple of them. Sizes that an ONNX model leaves open follow it, by their names or those of
    inputs: ``model.onnx:batch=2,image=1x3x224x224``. For several ``ranks`` training steps take the mean
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
    from workbench.network.onnx import read_onnx

    return read_onnx(path, shapes=sizes_of(name), seed=seed)


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
