"""The envelope of a network for users: made of a graph, of a name, or of a dump; and its file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError
from workbench.core.files import file_content, write_text
from workbench.core.text import json_number
from workbench.dump.dump import Dump
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Graph
from workbench.run.envelope import MOST_RUNS, Envelope, Place, Spread, measure_envelope

if TYPE_CHECKING:
    from workbench.run.executor import Feeds

SCHEMA = "workbench.envelope/1"

MAX_BYTES = 1 << 28
"""Most bytes of a file that are read."""

_MOST_AXES = 32
_MOST_TEXT = 4096


def envelope(
    network: Graph | Dump | str | Path,
    feeds: Feeds = None,
    *,
    runs: int = 1,
    seed: int = 0,
    iterations: int = 1,
    dtype: str = "",
) -> Envelope:
    """Measure how far the tensors of a network move when what goes in moves by one step of its number format.

    Give it to `compare` as ``envelope``: rows then have columns that say how many times the envelope they are off.
    More than 3 is no rounding; 3 or less says nothing against a fault of the operator itself.

    Parameters
    ----------
    network : Graph, Dump, path or text
        A graph (`trace`, `read_ir`, `read_onnx`); a dump, its tree or its graph file, whose operators are computed
        again from the dumped inputs; or what `workbench simulate --graph` takes.
    feeds : mapping of parameter name to array, or a function of the iteration that returns one
        Inputs and weights of a graph; what is missing comes from the graph. A dump brings its own.
    runs : int
        Disturbed runs, 1 to 3; one is nearly enough.
    seed : int
        Seed of the signs; of a network by name also that of its weights.
    iterations : int
        Iterations that a graph runs, from 0 on; a dump has its own.
    dtype : str
        Number format whose ε is taken, where the device computes in another one than is stored (``float16``).

    Raises
    ------
    GraphError
        Control flow, an input without value, an operator that cannot be computed, or numbers out of range.
    FormatError
        There is no such network or dump, or it cannot be read.
    """
    options: dict[str, Any] = {"runs": runs, "seed": seed, "dtype": dtype}
    found = _opened(str(network), seed) if isinstance(network, str | Path) else network
    if isinstance(found, Dump):
        from workbench.comparison.replay.envelope import envelope_of_dump

        return envelope_of_dump(found, **options)
    return measure_envelope(found, feeds, iterations=iterations, **options)


def _opened(text: str, seed: int) -> Graph | ControlFlow | Dump:
    """Return the dump or network of a name."""
    if Path(text).is_dir():
        from workbench.dump.reader import load

        return load(text)
    from workbench.network.models import load_graph

    return load_graph(text, seed)


# --- the file ----------------------------------------------------------------------------------


def write_envelope(path: str | Path, found: Envelope) -> Path:
    """Write an envelope as JSON, schema ``workbench.envelope/1``: a line for every tensor."""
    head = {
        "schema": SCHEMA, "network": found.network, "runs": found.runs, "seed": found.seed, "dtype": found.dtype,
    }  # fmt: skip
    lines = [
        json.dumps(
            [*place, one.shape, _plain(one.norm), [*map(_plain, one.slices)]], allow_nan=False
        )
        for place, one in found.spreads.items()
    ]
    body = json.dumps(head)[:-1]
    return write_text(path, f'{body}, "tensors": [\n' + ",\n".join(lines) + "\n]}\n")


def _plain(figure: float | None) -> float | str | None:
    return None if figure is None else json_number(figure)


def read_envelope(path: str | Path) -> Envelope:
    """Read what `write_envelope` wrote; raises FormatError for what is no envelope."""
    try:
        data = json.loads(file_content(path, MAX_BYTES, "envelope"))
    except (ValueError, RecursionError) as error:
        raise FormatError("run/order-json", place=str(path), why=error) from None
    try:
        return _read(data)
    except FormatError as error:
        raise error.at(str(path)) from None


def _read(data: object) -> Envelope:
    schema = data.get("schema") if isinstance(data, dict) else type(data).__name__
    if not isinstance(data, dict) or schema != SCHEMA or not isinstance(data.get("tensors"), list):
        raise FormatError("run/order-schema", got=schema, expected=SCHEMA)
    head = [data.get(key) for key in ("runs", "seed", "dtype", "network")]
    match head:
        case [int(runs), int(seed), str(dtype), str(network)] if 1 <= runs <= MOST_RUNS:
            pass
        case _:
            raise FormatError("session/envelope-head", got=str(head)[:80])
    spreads = {}
    for number, entry in enumerate(data["tensors"]):
        place, found = _entry(entry, number)
        spreads[place] = found
    return Envelope(spreads, runs, seed, dtype, network)


def _entry(entry: object, number: int) -> tuple[Place, Spread]:
    if isinstance(entry, list) and len(entry) == len(Place._fields) + len(Spread._fields):
        place, spread = Place(*entry[: len(Place._fields)]), Spread(*entry[len(Place._fields) :])
        if _is_place(place) and _is_spread(spread):
            slices = tuple(map(_figure, spread.slices))
            return place, Spread(tuple(spread.shape), _figure(spread.norm) or 0.0, slices)
    raise FormatError("session/envelope-entry", number=number, got=str(entry)[:80])


def _is_place(place: Place) -> bool:
    numbers = (place.graph_id, place.iteration, place.slot, place.turn, place.rank)
    return _text(place.op_name) and _text(place.io) and all(map(_whole, numbers))


def _is_spread(spread: Spread) -> bool:
    if not (_is_list(spread.shape) and _is_list(spread.slices) and all(map(_whole, spread.shape))):
        return False
    known = [one for one in (spread.norm, *spread.slices) if one is not None]
    figures = spread.norm is not None and all(_figure(one) is not None for one in known)
    return figures and len(spread.shape) == len(spread.slices)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_AXES


def _whole(value: object) -> bool:
    return type(value) is int and -(2**62) < value < 2**62


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _figure(value: object) -> float | None:
    """Return a positive number; ``None`` for anything else."""
    if value == "Infinity":
        return math.inf
    if type(value) in (int, float) and 0.0 < value < math.inf:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    return None
