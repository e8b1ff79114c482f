"""The order in which a device sums, measured: trees of additions, how they are found, and their file.

In: a function that sums or multiplies, or the outputs of a device for given probes.
Out: an `Order` that computes the same sum again to the bit, and ``orders.json`` with several of them.
Added here: where the probes of a number format lie in `probe.SCALES`, how products are rounded in `tree.PRODUCTS`.
"""

from __future__ import annotations

from workbench.npu.orders.files import read_orders, read_probes, write_orders, write_probes
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.orders.probe import probe_order
from workbench.npu.orders.tree import Order, blocked, pairwise, sequential

__all__ = [
    "NO_ORDERS",
    "Order",
    "Orders",
    "blocked",
    "pairwise",
    "probe_order",
    "read_orders",
    "read_probes",
    "sequential",
    "write_orders",
    "write_probes",
]
