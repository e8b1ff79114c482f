"""``workbench simulate``: a network on NumPy or a simulated NPU, with its dump."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.options import (
    ENV,
    FUSION,
    GE_OPTIONS,
    INPUT,
    QUANTIZATION,
    SCHEDULE,
    SHAPE,
    VERSION,
    compiler_options,
    places_of,
    variables,
)
from workbench.cli.terminal import Exit, print_lines, print_text
from workbench.core.words import Message


def simulate(
    graph: Annotated[
        list[str],
        typer.Option(
            help="Network: lenet, alexnet, mlp, resnet, transformer, lstm, a training of one "
            "(lenet_train, mlp_train, resnet_train, transformer_train), file.py:Name, model.onnx, or another graph "
            "file. Repeat to run several in one process."
        ),
    ],
    config: Annotated[str, typer.Option(metavar="FILE", help="Dump configuration.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Output folder, new or empty.")],
    surface: Annotated[str, typer.Option(help="Surface. Default: from the configuration.")] = "",
    device: Annotated[
        str, typer.Option(help="reference (NumPy) or a simulated device: 910a, 310p, a2, a3, 950.")
    ] = "reference",
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND:OPERATOR[:SETTINGS]", help="Fault to inject (repeatable)."),
    ] = None,
    input_: INPUT = None,
    shape: SHAPE = None,
    seed: Annotated[int, typer.Option(help="Seed of weights, faults and file names.")] = 0,
    iterations: Annotated[int, typer.Option(help="Number of iterations.")] = 1,
    schedule: SCHEDULE = "",
    set_dump: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Mark operators for dump_mode 2 (set_dump): name, pattern with *, type or scope (repeatable).",
        ),
    ] = None,
    max_turns: Annotated[int, typer.Option(help="Maximum number of loop turns.")] = 1000,
    ranks: Annotated[int, typer.Option(help="Number of ranks.")] = 1,
    orders: Annotated[
        str, typer.Option(metavar="FILE", help="Orders in which the device sums (orders.json).")
    ] = "",
    precision_mode: Annotated[str, typer.Option(help="Precision mode, e.g. force_fp16.")] = "",
    fusion: FUSION = "",
    ge_options: GE_OPTIONS = "",
    quantization: QUANTIZATION = "",
    target_version: VERSION = "",
    env: ENV = None,
) -> int:
    """Run a network on NumPy or a simulated NPU and write its dump. Exit status: 0 done, 1 nothing dumped, 2 error."""
    from workbench.golden_data import inputs_of, shapes_of
    from workbench.simulation.events import dumped_nothing
    from workbench.simulation.inputs import networks_with_inputs
    from workbench.simulation.lowering import load_given, surface_of
    from workbench.simulation.simulate import simulate as run

    told: list[Message] = []
    variables_of_run, order = variables(env), places_of(schedule)
    asked = compiler_options(ge_options, precision_mode, fusion)
    inputs, shapes = inputs_of(input_ or ()), shapes_of(shape or ())
    networks, feeds = networks_with_inputs(graph, inputs, shapes, seed, ranks)
    form = load_given(config, surface or None)
    print_lines(_heading(surface or surface_of(form, device), device, target_version), err=True)
    tree = run(
        networks,
        feeds,
        form,
        out,
        device=device,
        surface=surface or None,
        faults=fault or (),
        seed=seed,
        iterations=iterations,
        ranks=ranks,
        orders=orders or None,
        precision_mode=asked.precision,
        fusion=asked.fusion,
        quantization=quantization or None,
        version=target_version,
        env=variables_of_run,
        schedule=order,
        set_dump=set_dump or (),
        max_turns=max_turns,
        report=told.append,
    )
    for said in told:
        print_lines(said, err=True)
    print_text(str(tree))
    return Exit.NOTHING_DUMPED if dumped_nothing(told, ranks) else Exit.DONE


def _heading(surface: str, device: str, version: str) -> Message:
    """Say whose tree is written, as which release, and on which device."""
    from workbench.config import get

    row = get(surface)
    values = {"surface": surface, "product": row.product, "version": version or row.version}
    return Message("cli/simulate-as", **values, device=device)
