"""``workbench golden``: golden data of an ONNX model."""

from __future__ import annotations

import click

from workbench.cli.commands import Command, argument, option
from workbench.cli.options import INPUT, SHAPE
from workbench.cli.terminal import Exit, print_lines, print_text, progress
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message


@click.command(cls=Command)
@argument("model", metavar="MODEL.onnx", help="ONNX model to run.")
@option("--out", required=True, metavar="DIR", help="Output folder, new or empty.")
@INPUT
@SHAPE
@option(
    "--engine",
    default="",
    metavar="onnxruntime|reference",
    help="What computes the model. Default: onnxruntime if it is installed.",
)
@option("--seed", default=0, help="Seed of inputs that have no file.")
def golden(
    model: str,
    out: str,
    input_: tuple[str, ...],
    shape: tuple[str, ...],
    engine: str,
    seed: int,
) -> int:
    """Run an ONNX model and write every intermediate tensor as golden data. Exit status: 0 all written, 2 error."""
    from workbench.golden_data import golden as run
    from workbench.golden_data import inputs_of, shapes_of

    told: list[Message] = []
    result = run(
        model,
        inputs_of(input_),
        out,
        shapes=shapes_of(shape),
        engine=engine or None,
        seed=seed,
        progress=progress(),
        report=told.append,
    )
    for said in told:
        print_lines(said, err=True)
    values = {"tensors": result.tensors, "bytes": result.nbytes, "engine": result.engine}
    print_lines(Message("cli/golden", **values, model=model, out=out), err=True)
    print_text(str(result.path))
    if result.missing:
        raise WorkbenchError(
            "golden/not-computed", nodes=len(result.missing), missing=result.missing
        )
    return Exit.DONE
