"""Modules of PyTorch and Keras: what each of their parts gives, by hooks that are called after it.

Neither framework is imported here: a module comes with its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.core.long_work import checkpoint
from workbench.dump.formats.npy import NpySource
from workbench.golden_data.files import is_storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from workbench.golden_data.files import GoldenFiles

    Array = NDArray[Any]
    Progress = Callable[[int, int, str], None]
    Seen = Callable[[str, Any], None]


class Framework(NamedTuple):
    """A framework: its package, the class there of what can be watched, and how it is run and watched.

    ``watch`` calls back with the name and the result of every part that is called while it is entered. ``tensor``
    makes an input of an array, ``array`` an array of a result, or ``None`` of what is no tensor.
    """

    name: str
    kind: str
    watch: Callable[[Any, Seen], AbstractContextManager[None]]
    tensor: Callable[[Array], Any]
    array: Callable[[Any], Array | None]


def framework_of(model: object) -> Framework | None:
    """Return the framework that a module is of, ``None`` if it is of none."""
    for row in FRAMEWORKS:
        package = sys.modules.get(row.name)
        kind: Any = package
        for part in row.kind.split("."):
            kind = getattr(kind, part, None)
        if isinstance(kind, type) and isinstance(model, kind):
            return row
    return None


def write_modules(
    framework: Framework,
    module: Any,
    inputs: Any,
    files: GoldenFiles,
    progress: Progress | None = None,
) -> None:
    """Call a module and write what each of its parts gives, at once: nothing is held.

    Raises GraphError if there are no inputs; what the module itself raises comes through.
    """
    if inputs is None:
        raise GraphError("golden/module-inputs")
    named = dict(inputs) if isinstance(inputs, Mapping) else {}
    placed = () if named else inputs if isinstance(inputs, tuple | list) else (inputs,)
    args, kwargs = (
        [_given(one, framework) for one in placed],
        {name: _given(one, framework) for name, one in named.items()},
    )

    def seen(name: str, result: Any) -> None:
        checkpoint()
        for slot, leaf in enumerate(_leaves(result)):
            array = framework.array(leaf)
            if array is not None and is_storable(array):
                files.put(name, slot, array)
        if progress is not None:
            progress(files.tensors, 0, name)

    fed = {**{f"input_{place}": one for place, one in enumerate(args)}, **kwargs}
    arrays = {name: framework.array(one) for name, one in fed.items()}
    files.put_inputs({name: one for name, one in arrays.items() if one is not None})
    with framework.watch(module, seen):
        module(*args, **kwargs)


def _given(value: Any, framework: Framework) -> Any:
    """An input as the framework takes it; what is no array stays as it is."""
    if isinstance(value, str | Path):
        return framework.tensor(NpySource(str(value)).array())
    return framework.tensor(value) if isinstance(value, np.ndarray) else value


def _leaves(result: Any) -> Iterator[Any]:
    """Results of a part that gives several, in order."""
    if isinstance(result, Mapping):
        result = tuple(result.values())
    if isinstance(result, tuple | list):
        for one in result:
            yield from _leaves(one)
    else:
        yield result


@contextmanager
def _watch_torch(module: Any, seen: Seen) -> Iterator[None]:
    """Watch a module of PyTorch by forward hooks; parts are called as `named_modules` calls them."""

    def hook(name: str) -> Callable[[Any, Any, Any], None]:
        return lambda _part, _args, result: seen(name, result)

    with ExitStack() as hooks, sys.modules["torch"].no_grad():
        for name, part in module.named_modules():
            handle = part.register_forward_hook(hook(name or type(module).__name__))
            hooks.callback(handle.remove)
        yield


def _torch_tensor(array: Array) -> Any:
    return sys.modules["torch"].from_numpy(array)


def _torch_array(value: Any) -> Array | None:
    """Numbers of a tensor; those of formats that NumPy lacks become float32, which holds them all."""
    torch = sys.modules["torch"]
    if not isinstance(value, torch.Tensor):
        return None
    value = value.detach().cpu()
    value = value.dequantize() if value.is_quantized else value.to_dense()
    value = value.resolve_conj().resolve_neg()
    try:
        array: Array = value.numpy()
    except TypeError:
        array = value.float().numpy()
    return array


@contextmanager
def _watch_keras(model: Any, seen: Seen) -> Iterator[None]:
    """Watch a model of Keras, which has no hooks: ``call`` of every layer is wrapped meanwhile."""

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            seen(name, result)
            return result

        return called

    with ExitStack() as calls:
        for layer in model._flatten_layers():
            name = getattr(layer, "path", "") or layer.name
            object.__setattr__(layer, "call", wrapped(name, layer.call))
            calls.callback(object.__delattr__, layer, "call")
        yield


def _keras_tensor(array: Array) -> Any:
    return sys.modules["keras"].ops.convert_to_tensor(array)


def _keras_array(value: Any) -> Array | None:
    keras = sys.modules["keras"]
    if not keras.ops.is_tensor(value):
        return None
    array: Array = keras.ops.convert_to_numpy(value)
    return array


FRAMEWORKS = (
    Framework("keras", "Model", _watch_keras, _keras_tensor, _keras_array),
    Framework("torch", "nn.Module", _watch_torch, _torch_tensor, _torch_array),
)
"""Every framework. The first counts: a model of Keras may be a module of PyTorch as well."""
