"""Recipes of dumps for tables of cases: a run, and what was done to its files afterwards.

A `Side` is a value: `sim(...)` is a run of the simulator, `block(...)` one of ten lines of NumPy whose operators are
spoilt or computed otherwise; ``.but(...)`` adds changes of the files. `Trees` writes each run once.
"""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

import workbench as wb
from kit.build import small_dumps
from kit.build.small_dumps import Net, on_disk, shoot
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph

    Array = NDArray[Any]
    Edit = Callable[[Path], None]


@dataclass(frozen=True)
class Side:
    """How a dump is made: the run by its settings, then changes of its files."""

    kind: str
    settings: tuple[tuple[str, Any], ...]
    edits: tuple[Edit, ...] = ()

    def but(self, *edits: Edit) -> Side:
        """Return the same with further changes of files."""
        return replace(self, edits=(*self.edits, *edits))


def sim(network: str, device: str = "reference", **settings: Any) -> Side:
    """A run of the simulator; ``plan`` holds pairs for `DumpPlan`, ``feeds`` is a function of the graph."""
    settings |= {"network": network, "device": device}
    return Side("sim", tuple(sorted(settings.items())))


def block(**settings: Any) -> Side:
    """A run of `block_graph` by NumPy.

    Operator type or name → function: ``alter`` changes what was computed, ``run`` computes. ``feeds`` changes values
    by name, ``named`` the name of every operator; other settings are those of `block_graph`.
    """
    settings = {
        k: tuple(sorted(v.items())) if isinstance(v, dict) else v for k, v in settings.items()
    }
    return Side("block", tuple(sorted(settings.items())))


class Trees:
    """Folders of sides; what several sides have in common is written once."""

    def __init__(self, root: Path) -> None:
        self._root, self._made = root, {}

    def __call__(self, side: Side, name: str) -> Path:
        """Return a folder of the side; ``name`` is that of a copy whose files were changed."""
        run = replace(side, edits=())
        if run not in self._made:
            out = self._root / f"run{len(self._made)}"
            self._made[run] = WRITERS[side.kind](out, **dict(side.settings))
        if not side.edits:
            return self._made[run]
        tree = shutil.copytree(self._made[run], self._root / name)
        for edit in side.edits:
            edit(tree)
        return tree


def _simulated(
    out: Path, *, network: str, plan: Any = (), feeds: Any = None, **settings: Any
) -> Path:
    graph = load_graph(network, settings.get("seed", 0), settings.get("ranks", 1))
    wanted = DumpPlan("/x", **dict(plan))
    if "surface" in settings:
        wanted = wb.config.new(settings["surface"])
    return wb.simulate(graph, feeds and feeds(graph), wanted, out, **settings)


def _computed(out: Path, *, alter: Any = (), run: Any = (), feeds: Any = (), named: Any = None,
              **changes: Any) -> Path:  # fmt: skip
    graph = block_graph(**changes)
    values = block_values()
    for name, change in dict(feeds).items():
        values[name] = change(values[name]).astype(np.float32)
    wanted = dict(alter)
    by_name = {
        op.name: wanted.get(op.name.rpartition("/")[2], wanted.get(op.op_type, wanted.get("*")))
        for op in graph.ops
    }
    with patch.dict(small_dumps.RUN, dict(run)) if run else nullcontext():
        shots = shoot(graph, values, alter={k: v for k, v in by_name.items() if v})
    if named is not None:
        shots = [
            one if one.op_type == "Parameter" else one._replace(name=named(one.name))
            for one in shots
        ]
        ops = tuple(replace(op, name=named(op.name)) for op in graph.ops)
        graph = replace(graph, ops=ops)
    return on_disk(out, shots, graph)


WRITERS = {"sim": _simulated, "block": _computed}


def block_values() -> dict[str, Array]:
    """Feed and weights of `block_graph`."""
    rng = np.random.default_rng(33)
    shapes = {"x": (64, 48), "w0": (48, 64), "w1": (64, 64), "scale": (64, 64), "w2": (64, 32)}
    values = {k: rng.standard_normal(v) * (1 if k == "x" else 0.15) for k, v in shapes.items()}
    values["scale"] = np.full((64, 64), 0.05)
    values["scale"][:, 7] = 300  # one channel as in every large language model
    return {k: v.astype(np.float32) for k, v in values.items()}


def block_graph(*, swapped: bool = False, hot: bool = False, twice: bool = False,
                inserted: str = "", between: str = "") -> Graph:  # fmt: skip
    """x @ w0 → Tanh → @ w1 → Add (of Tanh) → ReLU → @ w2 → Softmax; 64 rows, 64 channels.

    ``swapped`` exchanges the inputs of Add, ``hot`` multiplies one channel behind ReLU by 300 and all others by
    0.05, ``twice`` computes Tanh again for Add, ``inserted`` is an operator behind the first product that leaves
    values alone, ``between`` one that does not.
    """
    net, wide = Net(), {"shape": (64, 64)}
    x, w0, w1 = net.feed("x", (64, 48)), net.weight("w0", (48, 64)), net.weight("w1", (64, 64))
    first = net.op("MatMul", x, w0, line=10, **wide)
    if inserted == "Transpose":
        first = net.op("Transpose", net.op("Transpose", first, **wide), **wide)
    elif inserted or between:
        first = net.op(
            inserted or between, first, name=f"Default/new-{inserted or between}-op0", **wide
        )
    tanh = net.op("Tanh", first, line=11, **wide)
    again = net.op("Tanh", first, line=11, **wide) if twice else tanh
    product = net.op("MatMul", tanh, w1, line=12, **wide)
    terms = (again, product) if swapped else (product, again)
    value = net.op("ReLU", net.op("Add", *terms, line=13, **wide), line=14, **wide)
    if hot:
        value = net.op("Mul", value, net.weight("scale", (64, 64)), line=15, **wide)
    value = net.op("MatMul", value, net.weight("w2", (64, 32)), line=16, shape=(64, 32))
    net.op("Softmax", value, line=17, shape=(64, 32))
    return net.graph()


# ---------------- changes of files


def _found(root: Path, pattern: str) -> list[Path]:
    found = sorted(path for path in root.rglob(pattern) if path.is_file())
    assert found, pattern
    return found


def drop(*patterns: str) -> Edit:
    """Delete files."""
    return lambda root: [path.unlink() for one in patterns for path in _found(root, one)] and None


def drop_folder(pattern: str) -> Edit:
    """Delete folders."""
    return lambda root: [shutil.rmtree(path) for path in [*root.rglob(pattern)]] and None


def raw(pattern: str, change: Callable[[bytes], bytes]) -> Edit:
    """Change the bytes of files."""
    return lambda root: (
        [p.write_bytes(change(p.read_bytes())) for p in _found(root, pattern)] and None
    )


def array(pattern: str, change: Callable[[Array], Array]) -> Edit:
    """Change the arrays of npy files."""
    return lambda root: [np.save(p, change(np.load(p))) for p in _found(root, pattern)] and None


def exchange(one: str, other: str) -> Edit:
    """Exchange what two files hold."""

    def edit(root: Path) -> None:
        (a,), (b,) = _found(root, one), _found(root, other)
        kept = a.read_bytes()
        a.write_bytes(b.read_bytes())
        b.write_bytes(kept)

    return edit


def stale(newer: str, older: str) -> Edit:
    """Let every file of an iteration hold what the file of the same tensor of an older one does."""

    def edit(root: Path) -> None:
        def key(path: Path) -> str:
            parts = path.name.split(".")
            return ".".join(parts[:2] + parts[5:])

        old = {key(path): path.read_bytes() for path in (root / older).iterdir()}
        for path in (root / newer).iterdir():
            path.write_bytes(old[key(path)])

    return edit


def renamed(change: Callable[[int, list[str]], list[str]]) -> Edit:
    """Rename npy files; ``change`` takes number and parts of the name (type, name, task, stream, time, …)."""

    def edit(root: Path) -> None:
        for number, path in enumerate(_found(root, "*.*.*.*.*.npy")):
            path.rename(path.with_name(".".join(change(number, path.name.split(".")))))

    return edit


def beside(name: str, content: bytes) -> Edit:
    """Write a file that is none of the dump's into every folder."""

    def edit(root: Path) -> None:
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            (folder / name).write_bytes(content)

    return edit


def without_graph(root: Path) -> None:
    """Delete the graph and what else tells the order of operators."""
    for name in ("graphs", "execution_order"):
        for path in [*root.rglob(name)]:
            shutil.rmtree(path)


def behind_link(root: Path) -> None:
    """Put a symbolic link in the place of the folder."""
    real = root.with_name(root.name + " - the real ßide")
    root.rename(real)
    os.symlink(real, root, target_is_directory=True)


def other_times(number: int, parts: list[str]) -> list[str]:
    """An hour later."""
    return [*parts[:4], str(int(parts[4]) + 3_600_000_000), *parts[5:]]


def shuffled_times(number: int, parts: list[str]) -> list[str]:
    """Another moment of the same millisecond for every file."""
    return [*parts[:4], str(1_700_000_000_000_000 + number * 7919 % 997), *parts[5:]]


# ---------------- what may be wrong with an array


def at(place: Any, change: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Return a function that changes one place of an array."""

    def changed(x: Array) -> Array:
        x = x.copy()
        x[place] = change(x[place])
        return x

    return changed


def zero(x: Array) -> Array:
    return np.zeros_like(x)


def exchanged(axis: int, one: int, other: int) -> Callable[[Array], Array]:
    """Return a function that exchanges two rows or columns."""

    def changed(x: Array) -> Array:
        order = np.arange(x.shape[axis])
        order[[one, other]] = order[[other, one]]
        return x.take(order, axis)

    return changed


def to_bfloat16(x: Array) -> Array:
    """Round to bfloat16, half to even, by the bits."""
    bits = x.astype(np.float32).view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def last_bit(x: Array) -> Array:
    """Let every element be off by one unit in the last place, either way."""
    up = np.random.default_rng(1).random(x.shape) < 0.5
    return np.nextafter(x, np.where(up, np.inf, -np.inf).astype(x.dtype))


def noise(size: float) -> Callable[[Array], Array]:
    """Return a function that adds noise, relative to the root mean square."""

    def changed(x: Array) -> Array:
        rms = np.sqrt(np.mean(np.square(x, dtype=np.float64)))
        return x + np.random.default_rng(2).standard_normal(x.shape) * size * rms

    return changed


# ---------------- the same computed otherwise


def sum_backwards(a: Array, b: Array) -> Array:
    """Product whose terms are added one by one from the last to the first."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in reversed(range(a.shape[1])):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def sum_in_blocks(a: Array, b: Array) -> Array:
    """Product of blocks of 16 terms, added pair by pair."""
    parts = [a[:, k : k + 16] @ b[k : k + 16] for k in range(0, a.shape[1], 16)]
    while len(parts) > 1:
        parts = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def sum_wide(a: Array, b: Array) -> Array:
    """Product added in float64."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


def softmax_shifted(a: Array) -> Array:
    """Softmax of numbers less their largest, as every device computes it."""
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def tanh_by_exp(a: Array) -> Array:
    e = np.exp(-2 * np.abs(a))
    return np.sign(a) * (1 - e) / (1 + e)


def negative_zero(a: Array) -> Array:
    """ReLU that gives -0 where the input is negative."""
    return np.where(a > 0, a, np.float32(-0.0))


def with_prefix(name: str) -> str:
    """Another name for an operator, of a graph or of a file."""
    return name.replace("Default", "Inference/net" if "/" in name else "Inference_net", 1)


def next_token(graph: Graph) -> dict[str, Array]:
    """Token ids of a network of which one is another."""
    (ids,) = (p for p in graph.parameters if p.name == "ids")
    return {"ids": at((1, 5), lambda token: (token + 1) % 7)(np.asarray(ids.default))}
