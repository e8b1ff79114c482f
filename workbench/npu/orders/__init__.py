"""The order in which a device sums, measured: trees of additions, how they are found, and their file.

In: a function that sums or multiplies, or the outputs of a device for given probes.
Out: an `Order` that computes the same sum again to the bit, and ``orders.json`` with several of them.
Added here: where the probes of a number format lie in `probe.SCALES`, how products are rounded in `tree.PRODUCTS`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
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

PLACES = {
    "NO_ORDERS": "workbench.npu.orders.known:NO_ORDERS",
    "Order": "workbench.npu.orders.tree:Order",
    "Orders": "workbench.npu.orders.known:Orders",
    "blocked": "workbench.npu.orders.tree:blocked",
    "pairwise": "workbench.npu.orders.tree:pairwise",
    "probe_order": "workbench.npu.orders.probe:probe_order",
    "read_orders": "workbench.npu.orders.files:read_orders",
    "read_probes": "workbench.npu.orders.files:read_probes",
    "sequential": "workbench.npu.orders.tree:sequential",
    "write_orders": "workbench.npu.orders.files:write_orders",
    "write_probes": "workbench.npu.orders.files:write_probes",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
