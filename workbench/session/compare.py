"""Compare two dumps: one call that reads both, compares them and says how it was asked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.comparison.engine import compare_dumps, keep_small
from workbench.comparison.limits import limits
from workbench.comparison.map_file import NO_OVERRIDES, Overrides, read_overrides
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.stages import Stages
from workbench.core.errors import AlignError
from workbench.dump.dump import Dump
from workbench.dump.reader import load
from workbench.session.comparison import Comparison
from workbench.session.provenance import provenance_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.comparison.limits import Limits
    from workbench.npu.orders.known import Orders
    from workbench.run.envelope import Envelope

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]


def compare(
    target: str | Path | Dump,
    golden: str | Path | Dump,
    *,
    map_file: str | Path | Overrides | None = None,
    target_graph: str | Path | None = None,
    golden_graph: str | Path | None = None,
    target_model: str | None = None,
    golden_model: str | None = None,
    rank: int | tuple[int, int] | None = None,
    iteration: int | tuple[int, int] | None = None,
    profile: str = NOISE_FLOOR,
    envelope: Envelope | str | Path | None = None,
    orders: Orders | str | Path | None = None,
    repeats: Iterable[str | Path | Dump] = (),
    require: float = 100.0,
    allow_missing: Iterable[str] = (),
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    pack: bool = True,
) -> Comparison:
    """Compare two dumps.

    Parameters
    ----------
    target, golden : path or Dump
        The run in question, and the run we trust.
    map_file : path or Overrides, optional
        The user's own pairs and groups, what to ignore and to tolerate (see `workbench.comparison.map_file`).
    target_graph, golden_graph : path, optional
        IR files to use instead of those in the trees.
    target_model, golden_model : str, optional
        Of several models in a tree the one to read: its folder, or an operator that it has.
    rank, iteration : int or (int, int), optional
        Rank or iteration of both, or of the target and of the golden; without it, all that both have.
    profile : str
        Rule of the verdicts, a key of `workbench.comparison.measure.profiles.PROFILES`.
    envelope : Envelope or path, optional
        How far rounding of its inputs moves the golden's network (`envelope`): rows say how many times that they are
        off. It does not change the verdict.
    orders : Orders or path, optional
        In which order the target's device sums (``orders.json``): replay then reproduces these sums to the bit.
    repeats : iterable of path or Dump
        Other runs of the target on the same inputs: what they differ by is noise, and no defect. The result says which
        operators are not deterministic.
    require : float
        Percent of the tensors of each side that count which have to be compared; below it the verdict is
        ``incomplete``. It is so too where an output of the network was not compared.
    allow_missing : iterable of str
        Names or patterns (``*``, ``?``) of operators whose tensors and results need not be compared.
    progress : callable (done, total, operator name), optional
        Before there is something to count it is called with (0, 0, what is done); what it raises ends the comparison.
    cancelled : callable, optional
        Asked before every pair; once it is true the result is returned as partial.
    pack : bool
        Whether what lies behind the rows of a large comparison is kept packed, in a quarter of its memory at most.
        ``False`` saves the time of packing (7 to 9 % of all) for who looks at once, and then no more.

    Raises
    ------
    FormatError
        A path is no dump or has no such model, or a given graph, map file, envelope or file of orders cannot be read.
    AlignError
        A rank or an iteration is no number, or ``require`` is no percentage.
    """
    required = required_limits(require)
    chosen = _two("rank", rank), _two("iteration", iteration)
    if isinstance(map_file, str | Path):
        map_file = read_overrides(Path(map_file))
    noise, summing = _envelope(envelope), _orders(orders)
    allowed = list(allow_missing)
    overrides = (map_file or NO_OVERRIDES).allow_missing(allowed)
    told = progress or tell_nobody
    with Stages()("read"):
        told(0, 0, "reading the target")
        if not isinstance(target, Dump):
            target = load(target, graph=target_graph, model=target_model)
        told(0, 0, "reading the golden")
        if not isinstance(golden, Dump):
            golden = load(golden, graph=golden_graph, model=golden_model)
        others = _repeats(repeats, target_graph, target_model)
    told(0, 0, "matching operators")
    compared = compare_dumps(
        target,
        golden,
        selection=Selection(*chosen, overrides),
        profile=profile,
        progress=progress,
        cancelled=cancelled,
        envelope=noise,
        orders=summing,
        repeats=others,
        limits=required,
    )
    if pack:
        compared = keep_small(compared)
    given = {
        "target_graph": target_graph, "golden_graph": golden_graph, "target_model": target_model,
        "golden_model": golden_model, "rank": chosen[0], "iteration": chosen[1],
        "profile": profile if profile != NOISE_FLOOR else "",
        "orders": orders if isinstance(orders, str | Path) or not orders else _ORDERS,
        "envelope": envelope if isinstance(envelope, str | Path | None) else _ENVELOPE,
        "repeats": [one.path for one in others],
        "require": require if required is not None else None, "allow_missing": allowed,
    }  # fmt: skip
    sides = compared.result.target.path, compared.result.golden.path
    return Comparison(
        compared.result,
        partial(getattr, compared.found, "flow"),
        provenance_texts(sides, given, map_file or NO_OVERRIDES),
    )


def _repeats(
    given: Iterable[str | Path | Dump], graph: str | Path | None, model: str | None
) -> list[Dump]:
    """Read other runs of the target, with the graph and the model that were given for it."""
    several = (given,) if isinstance(given, str | Path | Dump) else given
    return [
        one if isinstance(one, Dump) else load(one, graph=graph, model=model) for one in several
    ]


_ENVELOPE = "envelope.json"
"""Name under which the command and the Python read an envelope that was made here."""


_ORDERS = "orders.json"
"""The same of orders of summation."""


def _orders(given: Orders | str | Path | None) -> Orders | None:
    if not isinstance(given, str | Path):
        return given
    from workbench.npu.orders.files import read_orders

    return read_orders(given)


def _envelope(given: Envelope | str | Path | None) -> Envelope | None:
    if not isinstance(given, str | Path):
        return given
    from workbench.session.envelope import read_envelope

    return read_envelope(given)


def required_limits(percent: float) -> Limits | None:
    """What to judge by where less than everything has to be compared."""
    number = isinstance(percent, int | float) and not isinstance(percent, bool)
    if not number or not 0 < percent <= 100:
        raise AlignError("session/require", got=percent)
    return None if percent == 100 else replace(limits(), coverage_least=float(percent))


def tell_nobody(done: int, total: int, text: str) -> None:
    """Tell nobody."""


def _two(name: str, value: object) -> tuple[int, int] | None:
    """Read what is chosen of both sides."""
    given = value if isinstance(value, tuple) else (value, value)
    if value is None:
        return None
    if len(given) != 2 or not all(type(number) is int and number >= 0 for number in given):
        raise AlignError("session/chosen", name=name, got=value)
    return given
