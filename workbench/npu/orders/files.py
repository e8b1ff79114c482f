"""``orders.json``: orders of summation as a file, and the probes that a real device is given.

Files come from anywhere: nothing is believed of them that was not checked, and none is read beyond its limit.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import FormatError, GraphError, check_seed
from workbench.core.files import file_content, write_bytes, write_text
from workbench.npu.orders.known import PRODUCTS, SUMS, Orders
from workbench.npu.orders.probe import (
    CHECKS,
    SCALES,
    Scale,
    check_terms,
    check_vectors,
    confirmed,
    count,
    probe_rows,
    tree_from_counts,
)
from workbench.npu.orders.tree import PRODUCTS as ROUNDINGS
from workbench.npu.orders.tree import Order, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

SCHEMA = "workbench.orders/1"
PROBE_SCHEMA = "workbench.order-probe/1"

MAX_BYTES = 1 << 26
"""Most bytes of ``orders.json`` that are read."""

_MOST_ORDERS = 4096
_MOST_TEXT = 256
_MOST_PROBES = 1 << 28
"""Most numbers of a file of probes."""

_MANIFEST, _ROWS, _RIGHT, _OUTPUTS = "probe.json", "probes.npy", "right.npy", "outputs.npy"


# --- orders.json -------------------------------------------------------------------------------


def write_orders(path: str | Path, orders: Orders | Iterable[Order]) -> Path:
    """Write orders as JSON, schema ``workbench.orders/1``."""
    some = orders.all if isinstance(orders, Orders) else tuple(orders)
    entries = [
        {
            "device": one.device, "operator": one.operator, "dtype": one.dtype, "n": one.n,
            "accumulator": one.accumulator, "product": one.product, "equal": one.equal,
            "checks": one.checks, "tree": one.tree.steps,
        }
        for one in some
    ]  # fmt: skip
    return write_text(path, json.dumps({"schema": SCHEMA, "orders": entries}) + "\n")


def read_orders(path: str | Path) -> Orders:
    """Read ``orders.json``; raises FormatError for what is none."""
    data = _json(path, MAX_BYTES)
    entries = data.get("orders")
    if data.get("schema") != SCHEMA or not isinstance(entries, list):
        raise FormatError(
            "run/order-schema", place=str(path), got=data.get("schema"), expected=SCHEMA
        )
    if len(entries) > _MOST_ORDERS:
        raise FormatError("run/order-many", place=str(path), got=len(entries), limit=_MOST_ORDERS)
    try:
        return Orders(tuple(map(_order, entries)))
    except FormatError as error:
        raise error.at(str(path)) from None


def _json(path: str | Path, limit: int) -> dict[str, Any]:
    try:
        data = json.loads(file_content(path, limit, "orders"))
    except (ValueError, RecursionError) as error:
        raise FormatError("run/order-json", place=str(path), why=error) from None
    if not isinstance(data, dict):
        raise FormatError(
            "run/order-schema", place=str(path), got=type(data).__name__, expected=SCHEMA
        )
    return data


def _order(entry: object) -> Order:
    if not isinstance(entry, dict):
        raise FormatError("run/order-entry", key="orders", got=type(entry).__name__)
    steps, n = entry.get("tree"), _whole(entry, "n")
    if not isinstance(steps, list) or not all(map(_is_step, steps)):
        raise FormatError("run/order-entry", key="tree", got=str(steps)[:40])
    equal, checks = _whole(entry, "equal"), _whole(entry, "checks")
    if equal > checks:
        raise FormatError("run/order-entry", key="equal", got=equal)
    return Order(
        Tree(n, tuple(map(tuple, steps))),
        _choice(entry, "dtype", tuple(SCALES)),
        _choice(entry, "accumulator", tuple(SCALES)),
        _choice(entry, "product", ("", *ROUNDINGS)),  # type: ignore[arg-type]
        _text(entry, "device"),
        _text(entry, "operator"),
        equal,
        checks,
    )


def _is_step(step: object) -> bool:
    return isinstance(step, list) and all(type(node) is int for node in step)


def _whole(entry: dict[str, Any], key: str) -> int:
    value = entry.get(key)
    if type(value) is not int or not 0 <= value < 2**31:
        raise FormatError("run/order-entry", key=key, got=str(value)[:40])
    return value


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise FormatError("run/order-entry", key=key, got=str(value)[:40])
    return value


def _choice(entry: dict[str, Any], key: str, known: Sequence[str]) -> str:
    value = entry.get(key)
    if value not in known:
        raise FormatError("run/order-entry", key=key, got=str(value)[:40])
    return str(value)


# --- probes for a device -----------------------------------------------------------------------


def write_probes(
    folder: str | Path,
    n: int,
    dtype: str = "float32",
    *,
    operator: str = "ReduceSum",
    device: str = "",
    scale: int = 0,
    checks: int = CHECKS,
    seed: int = 0,
) -> Path:
    """Write what a device is to sum, so that `read_probes` finds its order.

    ``probes.npy`` has a row of ``n`` terms for every pair of terms and for every random vector; for products
    ``right.npy`` (n, 2) is the other factor, of ones and of random numbers. bfloat16 is written as float32, which
    holds it exactly: cast it on the device. ``scale`` chooses another row of `SCALES`, where the first does not serve.

    Raises GraphError for an operator, number format or length that is not probed.
    """
    check_terms(n, dtype)
    check_seed(seed)
    if operator not in SUMS | PRODUCTS:
        raise GraphError(
            "core/choice", subject="operator", got=operator, known=sorted(SUMS | PRODUCTS)
        )
    if not 0 <= scale < len(SCALES[dtype]):
        raise GraphError(
            "core/choice", subject="scale", got=scale, known=[*map(str, range(len(SCALES[dtype])))]
        )
    rows = _probe_count(n, checks)
    if rows * n > _MOST_PROBES:
        raise GraphError("run/order-probes", got=n, rows=rows, limit=_MOST_PROBES)
    product = operator in PRODUCTS
    left, right = check_vectors(n, dtype, checks, seed, product=product)
    probes = np.empty((rows, n), left.dtype)
    for number, (_, _, row) in enumerate(probe_rows(n, SCALES[dtype][scale])):
        probes[number] = row
    probes[rows - checks :] = left
    out = Path(folder)
    _save(out / _ROWS, probes)
    if product:  # one other factor for all, as a device multiplies matrices
        _save(
            out / _RIGHT, np.stack([np.ones(n, left.dtype), right[0]], axis=-1) if checks else None
        )
    manifest = {
        "schema": PROBE_SCHEMA, "operator": operator, "device": device, "dtype": dtype, "n": n,
        "scale": scale, "checks": checks, "seed": seed,
    }  # fmt: skip
    write_text(out / _MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return out


def _save(path: Path, array: NDArray[Any] | None) -> None:
    if array is None:
        return
    stream = io.BytesIO()
    np.save(
        stream, array if array.dtype.kind == "f" else array.astype(np.float32), allow_pickle=False
    )
    write_bytes(path, stream.getvalue())


def read_probes(folder: str | Path, outputs: str | Path | None = None) -> Order:
    """Return the order that a device's outputs for the probes of a folder tell.

    ``outputs`` is a file of npy: (rows,) sums, or (rows, 2) for products; ``outputs.npy`` of the folder if left out.

    Raises FormatError for files that are not what they should be, and GraphError for results of no order.
    """
    place = Path(folder)
    asked = _asked(place / _MANIFEST)
    found = _outputs(Path(outputs) if outputs is not None else place / _OUTPUTS, asked)
    n, product, scale = (
        asked["n"],
        asked["operator"] in PRODUCTS,
        SCALES[asked["dtype"]][asked["scale"]],
    )
    pairs = n * (n - 1) // 2
    whole, counts, sums = found[0, 0], found[1 : 1 + pairs, 0], found[1 + pairs :, -1]
    tree = _read_tree(n, scale, float(whole), counts)
    left, right = check_vectors(n, asked["dtype"], asked["checks"], asked["seed"], product=product)
    other = np.broadcast_to(right[0], right.shape) if product and len(right) else None
    order = confirmed(tree, asked["dtype"], left, other, sums)
    return replace(order, operator=asked["operator"], device=asked["device"])


def _read_tree(n: int, scale: Scale, whole: float, counts: NDArray[Any]) -> Tree:
    """Return the tree of all counts; raises GraphError if one of them is another tree's."""
    if whole / scale.unit != n:
        raise GraphError("run/order-units", got=whole / scale.unit, expected=n)
    table = np.ones((n, n), np.int64)
    number = 0
    for i in range(n):
        for j in range(i + 1, n):
            lost = count(n, float(counts[number]), scale)
            if lost is None:
                raise GraphError("run/order-none", i=i, j=j)
            table[i, j] = table[j, i] = lost
            number += 1
    tree = tree_from_counts(n, lambda i, others: table[i, others].tolist())
    wrong = np.argwhere(tree.common() != table)
    if len(wrong):
        raise GraphError("run/order-none", i=int(wrong[0][0]), j=int(wrong[0][1]))
    return tree


def _asked(path: Path) -> dict[str, Any]:
    data = _json(path, 1 << 16)
    if data.get("schema") != PROBE_SCHEMA:
        got = data.get("schema")
        raise FormatError("run/order-schema", place=str(path), got=got, expected=PROBE_SCHEMA)
    try:
        return _probed(data)
    except FormatError as error:
        raise error.at(str(path)) from None


def _probed(data: dict[str, Any]) -> dict[str, Any]:
    """Return what the probes were made for."""
    asked: dict[str, Any] = {key: _whole(data, key) for key in ("n", "scale", "checks", "seed")}
    asked["dtype"] = _choice(data, "dtype", tuple(SCALES))
    asked["operator"] = _choice(data, "operator", sorted(SUMS | PRODUCTS))
    asked["device"] = _text(data, "device")
    if asked["scale"] >= len(SCALES[asked["dtype"]]):
        raise FormatError("run/order-entry", key="scale", got=asked["scale"])
    if _probe_count(asked["n"], asked["checks"]) * asked["n"] > _MOST_PROBES:
        raise FormatError("run/order-entry", key="n", got=asked["n"])
    check_terms(asked["n"], asked["dtype"])
    return asked


def _probe_count(n: int, checks: int) -> int:
    return 1 + n * (n - 1) // 2 + checks


def _outputs(path: Path, asked: dict[str, Any]) -> NDArray[Any]:
    """Return the device's outputs as (rows, 1 or 2)."""
    n, columns = asked["n"], 2 if asked["operator"] in PRODUCTS else 1
    rows = _probe_count(n, asked["checks"])
    content = file_content(path, 1024 + 8 * rows * columns, "outputs")
    try:
        found = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        raise FormatError("run/order-outputs", place=str(path), got=error) from None
    if found.dtype.kind != "f" or found.size != rows * columns or found.shape[:1] != (rows,):
        got = f"{found.dtype} {found.shape}"
        raise FormatError("run/order-outputs", place=str(path), got=got)
    return found.reshape(rows, columns)
