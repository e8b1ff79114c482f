"""The one call that makes golden data of a model, whatever the model is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError, check_seed
from workbench.golden_data.engines import choose_engine
from workbench.golden_data.feeds import model_feeds
from workbench.golden_data.files import GoldenFiles
from workbench.golden_data.model import read_model
from workbench.golden_data.modules import framework_of, write_modules
from workbench.golden_data.result import Golden
from workbench.golden_data.walk import write_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.core.words import Message

    Progress = Callable[[int, int, str], None]
    Report = Callable[[Message], None]


def golden(
    model: Any,
    inputs: Any = None,
    out: str | Path = "golden",
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    engine: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    report: Report | None = None,
) -> Golden:
    """Run a model and write every intermediate tensor as golden data.

    Parameters
    ----------
    model : path, onnx.ModelProto, torch.nn.Module or keras.Model
        An ONNX model, whose nodes are run one by one, or a module, whose parts are watched by forward hooks. Compare
        a dump with data of an ONNX model by ``wb.compare(dump, out, golden_graph=model)``.
    inputs : mapping of input name to array or path of an npy file, optional
        Of an ONNX model; inputs that are not given come from the seed. Of a module: what it is called with, one
        array, a tuple, or a mapping of keyword arguments.
    out : path
        A folder that is new or empty.
    shapes : mapping of name to sizes, optional
        Shapes of inputs of an ONNX model that are not given, or single sizes by the name of an open dimension.
    engine : {"onnxruntime", "reference"}, optional
        What computes nodes of ONNX. ``reference``: the workbench's operators in float64, and the evaluator of onnx
        for nodes without one. Default: onnxruntime if it is installed.
    seed : int
        Seed of inputs, of random operators and of the times in file names.
    progress : callable, optional
        Called with how many tensors are done, how many there are (0: not known), and an operator's name.
    report : callable, optional
        Told what is to be said of the run, as messages.

    Returns
    -------
    Golden
        What was written. Operators that could not be computed are in ``missing``; all others were.

    Raises
    ------
    GraphError
        An input is unknown, does not fit or has no known shape; a package is missing; no operator can be computed.
    FormatError
        A file is damaged or leads out of the model's folder, or ``out`` is not empty.
    OutputError
        ``out`` cannot be written. What was written before stays, each file whole.
    """
    check_seed(seed)
    tell = report or _silent
    framework = framework_of(model)
    if framework is not None:
        with GoldenFiles(out, seed) as files:
            write_modules(framework, model, inputs, files, progress)
            _tell_all(files.remarks(), tell)
        return Golden(files.root, framework.name, files.tensors, files.nbytes)
    source = read_model(model)
    name, computing, said = choose_engine(engine, seed)
    feeds, seeded = model_feeds(source, inputs or {}, shapes or {}, seed)
    with GoldenFiles(out, seed) as files:
        files.put_inputs(feeds)
        found = write_nodes(source, feeds, computing, files, progress)
        files.put_roles(found.roles)
    _tell_all([*said, *seeded, *found.remarks, *computing.remarks(), *files.remarks()], tell)
    if found.missing and not files.tensors:
        raise GraphError("golden/nothing", place=source.where, why=found.missing[0])
    return Golden(files.root, name, files.tensors, files.nbytes, tuple(found.missing))


def _tell_all(said: Iterable[Message], tell: Report) -> None:
    for message in said:
        tell(message)


def _silent(_message: Message) -> None:
    """Tell nobody."""
