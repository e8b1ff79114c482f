"""Control flow that depends on values: `while_loop` and `cond`.

MindSpore makes them of Python's ``while`` and ``if``, and of ``ops.WhileLoop``; a trace has to be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.network.regions import IfRegion, WhileRegion
from workbench.network.symbolic import Operators, Tensor, recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workbench.graph.graph import Operand, Param
    from workbench.network.tracer import Trace


def while_loop(
    cond_fun: Callable[[Any], Any], loop_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Repeat a function as long as a condition holds, as ``mindspore.ops.WhileLoop``.

    Parameters
    ----------
    cond_fun : function of the value
        Returns a tensor of one element.
    loop_fun : function of the value
        Returns the value of the next turn, of the same shapes and dtypes.
    init_val : tensor, array, number, or a tuple of these
        The value of the first turn.

    Raises
    ------
    GraphError
        A turn changes shapes or dtypes, or the condition is no single value.
    """
    trace = recorder("while_loop")
    name = trace.control_name("while")
    first = [trace.symbol(item) for item in _leaves(init_val)]
    if not first:
        raise GraphError("graph/loop-value", name=name, got=init_val)
    carried = [trace.captured(f"{name}:{n}", item.spec) for n, item in enumerate(first)]
    value = _like(init_val, iter(carried))
    with trace.part() as condition:
        predicate = _predicate(trace, cond_fun(value), name)
    with trace.part() as body:
        after = _values(trace, loop_fun(value), carried, name)
    places, start = _params(carried), tuple(item.value for item in first)
    loop = WhileRegion(trace.where(name), places, start, condition, predicate, body, after)
    trace.layout.parts.append(loop)
    return value


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """Return what one of two functions makes of the operands, and run that one alone.

    Parameters
    ----------
    pred : tensor of one element, or bool
    true_fn, false_fn : functions of the operands
        Their results have the same shapes and dtypes, or are both ``None``.

    Raises
    ------
    GraphError
        The results differ in shape or dtype, or the predicate is no single value.
    """
    if not isinstance(pred, Operators):
        return (true_fn if pred else false_fn)(*operands)
    trace = recorder("cond")
    name = trace.control_name("cond")
    predicate = _predicate(trace, pred, name)
    with trace.part() as then:
        result = true_fn(*operands)
        made = [trace.symbol(item) for item in _leaves(result)]
    results = [trace.captured(f"{name}:{n}", item.spec) for n, item in enumerate(made)]
    with trace.part() as orelse:
        other = _values(trace, false_fn(*operands), results, name)
    made_values = tuple(item.value for item in made)
    branch = IfRegion(predicate, _params(results), then, made_values, orelse, other)
    trace.layout.parts.append(branch)
    return _like(result, iter(results))


def _predicate(trace: Trace, value: Any, name: str) -> Operand:
    symbol = trace.symbol(value)
    if symbol.spec.size != 1:
        raise GraphError("graph/condition", name=name, got=symbol.shape)
    return symbol.value


def _values(trace: Trace, value: Any, like: Sequence[Tensor], name: str) -> tuple[Operand, ...]:
    """Return the operands of a value that must have given shapes and dtypes."""
    found = [trace.symbol(item) for item in _leaves(value)]
    ours = [(item.dtype, item.shape) for item in found]
    wanted = [(item.dtype, item.shape) for item in like]
    if ours != wanted:
        raise GraphError("graph/control-specs", name=name, expected=wanted, got=ours)
    return tuple(item.value for item in found)


def _params(tensors: Sequence[Tensor]) -> tuple[Param, ...]:
    return tuple(tensor.value for tensor in tensors)  # type: ignore[misc]  # `captured` gives these


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _like(value: Any, leaves: Iterator[Tensor]) -> Any:
    """Return the same tuples with other tensors in them."""
    if isinstance(value, tuple | list):
        return tuple(_like(item, leaves) for item in value)
    return None if value is None else next(leaves)
