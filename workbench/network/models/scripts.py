"""Networks in files of the user."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError, WorkbenchError
from workbench.core.files import is_file
from workbench.network.cell import Cell
from workbench.network.tracer import trace, trace_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from workbench.graph.control_flow import Network


def trace_script(file: str, name: str, seed: int = 0) -> Network:
    """Return the graph of the Cell class, Cell or function ``name`` of a file.

    The file says what goes in: ``INPUTS``, ``inputs()``, ``inputs(seed)`` or ``inputs(seed, iteration)``.
    """
    path = Path(file)
    if not is_file(path):
        raise GraphError("core/missing", got=str(path))
    module = _execute(path)
    network = getattr(module, name, None)
    if network is None:
        known = sorted(key for key, value in vars(module).items() if _is_network(value, module))
        raise GraphError("core/choice", place=str(path), subject="network", got=name, known=known)
    with _mended_by_its_author("graph/trace-failed", path, name=name):
        if isinstance(network, type):
            network = network()
        make: Any = getattr(module, "inputs", None)
        if "INPUTS" not in vars(module) and _arguments(make) == 2:
            return trace_batches(network, lambda number: _tuple(make(seed, number)), name, seed)
        return trace(network, *_inputs(module, path, seed), name=name, seed=seed)


@contextmanager
def _mended_by_its_author(code: str, path: Path, **values: Any) -> Iterator[None]:
    """Say of whatever the user's own code raises that it does."""
    try:
        yield
    except WorkbenchError:
        raise
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise GraphError(code, place=str(path), error=kind, why=error, **values) from error


def _arguments(make: Any) -> int:
    """How many arguments a function takes."""
    return make.__code__.co_argcount if hasattr(make, "__code__") else 0


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _execute(path: Path) -> ModuleType:
    """Run the user's file as a module; its folder is on the path meanwhile, as if run by Python.

    The code keeps the name as the user typed it, so that source lines show ``net.py``.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None:
        raise GraphError("graph/not-python", got=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with _mended_by_its_author("graph/script-failed", path):
            exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _is_network(value: Any, module: ModuleType) -> bool:
    if isinstance(value, Cell):
        return True
    own = getattr(value, "__module__", None) == module.__name__
    return own and callable(value) and getattr(value, "__name__", "") != "inputs"


def _inputs(module: ModuleType, path: Path, seed: int) -> tuple[Any, ...]:
    value = getattr(module, "INPUTS", None)
    make = getattr(module, "inputs", None)
    if value is None and make is not None:
        value = make(seed) if _arguments(make) else make()
    if value is None:
        raise GraphError("graph/script-inputs", place=str(path))
    return _tuple(value)
