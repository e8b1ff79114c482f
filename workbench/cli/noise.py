"""``workbench envelope`` and ``workbench order``: measure what noise a network and a device have."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.terminal import Exit, print_lines
from workbench.core.words import Message

order_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure the order in which a device sums: write probes, run them there, read its outputs.",
)


def envelope(
    network: Annotated[
        str,
        typer.Argument(
            help="Network as in simulate --graph, or the dump of a trusted run with its graph."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FILE", help="File to write (JSON).")],
    runs: Annotated[int, typer.Option(help="Disturbed runs, 1 to 3.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of signs and weights.")] = 0,
    iterations: Annotated[int, typer.Option(help="Iterations that a network runs.")] = 1,
    dtype: Annotated[
        str, typer.Option(help="Number format of the device. Default: the one that is stored.")
    ] = "",
) -> int:
    """Measure how far rounding of its inputs moves a network, for compare --envelope."""
    from workbench.session.envelope import envelope as run
    from workbench.session.envelope import write_envelope

    found = run(network, runs=runs, seed=seed, iterations=iterations, dtype=dtype)
    write_envelope(out, found)
    print_lines(Message("cli/envelope", tensors=len(found), runs=found.runs, path=out))
    return Exit.DONE


@order_app.command()
def write(
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the probes.")],
    n: Annotated[int, typer.Option("--n", help="Number of terms of the sum.")],
    operator: Annotated[str, typer.Option(help="ReduceSum, MatMul or BatchMatMul.")] = "ReduceSum",
    dtype: Annotated[str, typer.Option(help="float32, float16, bfloat16 or float64.")] = "float32",
    device: Annotated[str, typer.Option(help="Name of the device.")] = "",
    scale: Annotated[
        int, typer.Option(help="1: smaller probes, for a unit that reads float32 as float16.")
    ] = 0,
) -> int:
    """Write probes.npy (and right.npy for products): run the operator on them, save outputs.npy beside them."""
    from workbench.npu.orders import write_probes

    folder = write_probes(out, n, dtype, operator=operator, device=device, scale=scale)
    product = operator != "ReduceSum"
    print_lines(Message("cli/order-product" if product else "cli/order-sum", folder=str(folder)))
    return Exit.DONE


@order_app.command()
def read(
    probes: Annotated[str, typer.Argument(help="Folder of the probes.")],
    orders: Annotated[
        str, typer.Option(metavar="FILE", help="orders.json: written, or the order is added to it.")
    ] = "orders.json",
    outputs: Annotated[
        str, typer.Option(metavar="FILE", help="Outputs of the device. Default: outputs.npy there.")
    ] = "",
) -> int:
    """Read a device's outputs of the probes and write the order of its sums. Exit status 2: not confirmed."""
    from pathlib import Path

    from workbench.npu.orders import Orders, read_orders, read_probes, write_orders

    found = read_probes(probes, outputs or None)
    known = read_orders(orders) if Path(orders).exists() else Orders()
    others = [
        one
        for one in known.all
        if (one.device, one.operator, one.dtype, one.n)
        != (found.device, found.operator, found.dtype, found.n)
    ]
    write_orders(orders, [*others, found])
    values = {"operator": found.operator, "dtype": found.dtype, "n": found.n, "path": orders}
    values |= {"accumulator": found.accumulator, "equal": found.equal, "checks": found.checks}
    print_lines(Message("cli/order-read" if found.is_confirmed else "cli/order-unsure", **values))
    return Exit.DONE if found.is_confirmed else Exit.TROUBLE
