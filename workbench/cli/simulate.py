"""``workbench simulate``: a network on NumPy or a simulated NPU, with its dump."""

from __future__ import annotations

import click

from workbench.cli.commands import Command, option, repeated
from workbench.cli.options import (
    ENV,
    FUSION,
    GE_OPTIONS,
    INPUT,
    PRECISION_MODE,
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


@click.command(cls=Command)
@repeated(
    "--graph",
    required=True,
    help="Network: lenet, alexnet, mlp, resnet, transformer, lstm, a training of one "
    "(lenet_train, mlp_train, resnet_train, transformer_train), moe_train, file.py:Name, model.onnx, or another "
    "graph file. Repeat to run several in one process.",
)
@option("--config", required=True, metavar="FILE", help="Dump configuration.")
@option("--out", required=True, metavar="DIR", help="Output folder, new or empty.")
@option("--surface", default="", help="Surface. Default: from the configuration.")
@option(
    "--device",
    default="reference",
    help="reference (NumPy) or a simulated device: 910a, 310p, a2, a3, 950.",
)
@repeated("--fault", metavar="KIND:OPERATOR[:SETTINGS]", help="Fault to inject (repeatable).")
@INPUT
@SHAPE
@option("--seed", default=0, help="Seed of weights, faults and file names.")
@option("--iterations", default=1, help="Number of iterations.")
@SCHEDULE
@repeated(
    "--set-dump",
    metavar="PATTERN",
    help="Mark operators for dump_mode 2 (set_dump): name, pattern with *, type or scope (repeatable).",
)
@option("--max-turns", default=1000, help="Maximum number of loop turns.")
@option("--ranks", default=1, help="Number of ranks.")
@option(
    "--parallel",
    default="",
    metavar="tp=4,pp=2,dp=8",
    help="Share one network between the ranks: tensor, sequence, context, expert, pipeline, data parallel.",
)
@option(
    "--layouts",
    default="",
    metavar="FILE",
    help="With --parallel: write how each tensor lies on the ranks.",
)
@option(
    "--orders",
    default="",
    metavar="FILE",
    help="Orders in which the device sums (orders.json).",
)
@PRECISION_MODE
@FUSION
@GE_OPTIONS
@QUANTIZATION
@VERSION
@ENV
def simulate(
    graph: tuple[str, ...],
    config: str,
    out: str,
    surface: str,
    device: str,
    fault: tuple[str, ...],
    input_: tuple[str, ...],
    shape: tuple[str, ...],
    seed: int,
    iterations: int,
    schedule: str,
    set_dump: tuple[str, ...],
    max_turns: int,
    ranks: int,
    parallel: str,
    layouts: str,
    orders: str,
    precision_mode: str,
    fusion: str,
    ge_options: str,
    quantization: str,
    target_version: str,
    env: tuple[str, ...],
) -> int:
    """Run a network on NumPy or a simulated NPU and write its dump. Exit status: 0 done, 1 nothing dumped, 2 error."""
    from workbench.golden_data import inputs_of, shapes_of
    from workbench.simulation.events import dumped_nothing
    from workbench.simulation.inputs import networks_with_inputs
    from workbench.simulation.jobs import as_parallel, write_layouts
    from workbench.simulation.lowering import load_given, surface_of
    from workbench.simulation.simulate import simulate as run

    told: list[Message] = []
    variables_of_run, order = variables(env), places_of(schedule)
    asked = compiler_options(ge_options, precision_mode, fusion, told.append)
    inputs, shapes = inputs_of(input_), shapes_of(shape)
    shared_by = as_parallel(parallel, ranks)
    ranks = ranks if shared_by is None else shared_by.ranks
    networks, feeds = networks_with_inputs(
        graph, inputs, shapes, seed, ranks if shared_by is None else 1
    )
    form = load_given(config, surface or None)
    tree = run(
        networks,
        feeds,
        form,
        out,
        device=device,
        surface=surface or None,
        faults=fault,
        seed=seed,
        iterations=iterations,
        ranks=ranks,
        parallel=shared_by,
        orders=orders or None,
        precision_mode=asked.precision,
        fusion=asked.fusion,
        quantization=quantization or None,
        version=target_version,
        env=variables_of_run,
        schedule=order,
        set_dump=set_dump,
        max_turns=max_turns,
        report=told.append,
    )
    if layouts and shared_by is not None:
        write_layouts(networks[0], shared_by, layouts)
    # behind the run, so that a refusal is one line; before all else that it says
    heading = _heading(surface or surface_of(form, device), device, target_version)
    for said in (heading, *told):
        print_lines(said, err=True)
    print_text(str(tree))
    return Exit.NOTHING_DUMPED if dumped_nothing(told, ranks) else Exit.DONE


def _heading(surface: str, device: str, version: str) -> Message:
    """Say whose tree is written, as which release, and on which device."""
    from workbench.config import get

    row = get(surface)
    values = {"surface": surface, "product": row.product, "version": version or row.version}
    return Message("cli/simulate-as", **values, device=device)
