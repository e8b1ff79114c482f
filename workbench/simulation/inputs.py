"""Networks of a command line with the inputs and shapes that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import Graph
from workbench.network.models import load_graph, split_graph
from workbench.network.models.load import is_onnx_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from workbench.graph.control_flow import Network


def networks_with_inputs(
    texts: Sequence[str],
    inputs: Mapping[str, Path],
    shapes: Mapping[str, Sequence[int]],
    seed: int,
    ranks: int,
) -> tuple[list[Network], dict[str, Any] | None]:
    """Return networks, and the inputs that have files by the names that the network has for them.

    Raises GraphError if inputs or shapes are given for several networks, a name is unknown, a shape is given for
    another network than an ONNX model, or something does not fit; FormatError for a file that is no array.
    """
    if not inputs and not shapes:
        return [_network(one, seed, ranks) for one in texts], None
    if len(texts) > 1:
        raise GraphError("simulation/inputs-of-several", count=len(texts))
    if is_model(texts[0]):
        graph, feeds = _model_with_inputs(texts[0], inputs, shapes, seed)
        return [graph], feeds
    if shapes:
        raise GraphError("simulation/shape-of-traced", name=next(iter(shapes)), network=texts[0])
    network = load_graph(texts[0], seed, ranks)
    return [network], _arrays(network, inputs)


def _network(text: str, seed: int, ranks: int) -> Network:
    """Return a network; of a model that chooses between graphs the ones that its example inputs take."""
    try:
        return load_graph(text, seed, ranks)
    except GraphError as error:
        if error.code != "graph/onnx-unsupported" or not _chooses(split_graph(text)[0]):
            raise
    return _model_with_inputs(text, {}, {}, seed)[0]


def _chooses(path: str) -> bool:
    from workbench.graph_files.formats import read_graph
    from workbench.graph_files.onnx.branches import is_choice

    return any(map(is_choice, read_graph(path).ops))


def network_with_inputs(
    network: Network | str, lines: Sequence[str], seed: int, ranks: int
) -> tuple[Network, dict[str, Any] | None]:
    """Return one network and its inputs, as `networks_with_inputs`; ``lines`` are those of `golden_data.given_in`."""
    from workbench.golden_data import given_in

    files, shapes = given_in(lines)
    if isinstance(network, str):
        networks, feeds = networks_with_inputs([network], files, shapes, seed, ranks)
        return networks[0], feeds
    if shapes:
        raise GraphError(
            "simulation/shape-of-traced", name=next(iter(shapes)), network=network.name
        )
    return network, _arrays(network, files) if files else None


def is_model(text: str) -> bool:
    """Whether the text of a network names an ONNX model, whatever it is called.

    >>> is_model("net.onnx"), is_model("net.onnx:batch=2"), is_model("net.py:Net"), is_model("lenet")
    (True, True, False, False)
    """
    path = split_graph(text)[0]
    return bool(path) and not path.endswith(".py") and is_onnx_file(path)


def _model_with_inputs(
    text: str, inputs: Mapping[str, Path], shapes: Mapping[str, Sequence[int]], seed: int
) -> tuple[Graph, dict[str, Any]]:
    """Return an ONNX model, its open sizes as its inputs have them."""
    from workbench.golden_data.feeds import model_feeds, named_inputs
    from workbench.golden_data.model import read_model
    from workbench.golden_data.walk import branches_taken
    from workbench.network.models.load import sizes_of
    from workbench.network.onnx import read_onnx

    path, sizes = split_graph(text)
    stated = {
        name: (size,) if isinstance(size, int) else size for name, size in sizes_of(sizes).items()
    }
    source = read_model(path)
    inputs = named_inputs(inputs, (one.name for one in source.feeds))
    fed, _ = model_feeds(source, inputs, {**stated, **shapes}, seed)
    graph = read_onnx(
        path,
        shapes={name: array.shape for name, array in fed.items()},
        branches=branches_taken(source, fed, seed),
        seed=seed,
    )
    own = [parameter.name for parameter in graph.parameters if not parameter.is_weight]
    given = zip(own, fed.items(), strict=True)
    return graph, {name: array for name, (theirs, array) in given if theirs in inputs}


def _arrays(network: Network, inputs: Mapping[str, Path]) -> dict[str, Any]:
    from workbench.golden_data.feeds import input_array, named_inputs

    graphs = [network] if isinstance(network, Graph) else network.graphs
    known = [
        one.name for graph in graphs for one in graph.parameters if graph.path or not one.is_weight
    ]
    given = named_inputs(inputs, dict.fromkeys(known))
    return {name: input_array(name, path) for name, path in given.items()}
