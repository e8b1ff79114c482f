"""``workbench envelope`` and ``workbench order``: measure what noise a network and a device have."""

from __future__ import annotations

import click

from workbench.cli.commands import Command, Group, argument, option
from workbench.cli.terminal import Exit, print_lines
from workbench.core.words import Message

order_app = Group(
    "order",
    help="Measure the order in which a device sums: write probes, run them there, read its outputs.",
)


@click.command(cls=Command)
@argument(
    "network",
    help="Network as in simulate --graph, or the dump of a trusted run with its graph.",
)
@option("--out", required=True, metavar="FILE", help="File to write (JSON).")
@option("--runs", default=1, help="Disturbed runs, 1 to 3.")
@option("--seed", default=0, help="Seed of signs and weights.")
@option("--iterations", default=1, help="Iterations that a network runs.")
@option("--dtype", default="", help="Number format of the device. Default: the one that is stored.")
def envelope(network: str, out: str, runs: int, seed: int, iterations: int, dtype: str) -> int:
    """Measure how far rounding of its inputs moves a network, for compare --envelope."""
    from workbench.session.envelope import envelope as run
    from workbench.session.envelope import write_envelope

    found = run(network, runs=runs, seed=seed, iterations=iterations, dtype=dtype)
    write_envelope(out, found)
    print_lines(Message("cli/envelope", tensors=len(found), runs=found.runs, path=out))
    return Exit.DONE


@order_app.command()
@option("--out", required=True, metavar="DIR", help="Folder for the probes.")
@option("--n", required=True, type=int, help="Number of terms of the sum.")
@option("--operator", default="ReduceSum", help="ReduceSum, MatMul or BatchMatMul.")
@option("--dtype", default="float32", help="float32, float16, bfloat16 or float64.")
@option("--device", default="", help="Name of the device.")
@option("--scale", default=0, help="1: smaller probes, for a unit that reads float32 as float16.")
def write(out: str, n: int, operator: str, dtype: str, device: str, scale: int) -> int:
    """Write probes.npy (and right.npy for products): run the operator on them, save outputs.npy beside them."""
    from workbench.npu.orders import write_probes

    folder = write_probes(out, n, dtype, operator=operator, device=device, scale=scale)
    product = operator != "ReduceSum"
    print_lines(Message("cli/order-product" if product else "cli/order-sum", folder=str(folder)))
    return Exit.DONE


@order_app.command()
@argument("probes", help="Folder of the probes.")
@option(
    "--orders",
    default="orders.json",
    metavar="FILE",
    help="orders.json: written, or the order is added to it.",
)
@option(
    "--outputs",
    default="",
    metavar="FILE",
    help="Outputs of the device. Default: outputs.npy there.",
)
def read(probes: str, orders: str, outputs: str) -> int:
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
