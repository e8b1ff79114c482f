"""A network as the ranks of a job run it: cut by tensor, data and pipeline parallelism, collectives put in.

In: a traced graph of the whole network, and a `workbench.run.parallel.Parallel`.
Out: `split_network`: the graph of every rank with its share of weights and batches, and how each tensor lies.
Added here: a rule in `rules.RULES` for an operator type, a row of `weights.WEIGHTS` for a network.
"""

from workbench.simulation.split.split import SplitNetwork, split_network

__all__ = ["SplitNetwork", "split_network"]
