"""MindSpore's own trees, written and foretold by the platform that a test names."""

from __future__ import annotations

from workbench.core.writers import MINDSPORE_RELEASE as VERSION
from workbench.core.writers import WRITERS
from workbench.dump.write.forecast import foretell
from workbench.dump.write.targets import Target
from workbench.dump.write.trees import write_tree

SURFACES = {row.platform: name for name, row in WRITERS.items() if row.by_mindspore}
"""Platform → the surface of MindSpore's own trees there."""


def target_of(device="CPU", version=VERSION, **more) -> Target:
    """A platform of MindSpore, as a target."""
    return Target(SURFACES[device], version, **more)


def write(records, plan, root, *, graph, device="CPU", progress=None, clock=None, **more):
    """Write records as MindSpore does; ``more`` is of the target."""
    target = target_of(device, **more)
    return write_tree(
        records, plan, root, graph=graph, target=target, progress=progress, clock=clock
    )


def foresee(graphs, plan, iterations, target=None, clock=None):
    """Foretell what MindSpore writes, on a CPU unless another target is given."""
    return foretell(graphs, plan, iterations, target or target_of(), clock)
