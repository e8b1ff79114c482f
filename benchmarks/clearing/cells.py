"""The cells of the matrix: where a network runs, what is dumped of it, and which graphs lie beside the dumps."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from diagnosing.cases import ITERATIONS, KINDS, LONG, MODELS, SURFACES, Setting

from workbench.npu.precision import modes_of
from workbench.npu.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

GRAPHS: dict[str, tuple[str, ...]] = {
    "both": ("target", "golden"),
    "target's": ("target",),
    "golden's": ("golden",),
    "none": (),
}
"""Whose graphs are left beside the dumps."""

RARELY = 0.25
"""How often a long training is drawn beside any other network: its comparisons take ten times as long."""

WAYS = ("full", "outputs", "statistics")


class Sample(NamedTuple):
    """One run of the matrix: clean if ``kind`` is empty, else with a fault of that kind.

    ``noise`` is that of `clearing.other_device`; ``None``: the simulated device computes as it does.
    """

    number: int
    setting: Setting
    kind: str = ""
    noise: float | None = None


def settings(networks: Collection[str] = tuple(MODELS)) -> list[tuple[str, str, str, str, str]]:
    """Model, device, surface, files and precision mode of every cell; ``""`` is the device's own mode."""
    chosen = [model for model in MODELS if model in networks]
    return [
        (model, device, surface, files, mode)
        for model, (surface, files), device in product(chosen, SURFACES, PROFILES)
        for mode in ("", *modes_of(PROFILES[device]))
        if not (model.endswith("_train") and surface == "acl")
    ]


def samples(
    seed: int,
    *,
    planted: bool,
    noises: Sequence[float | None] = (None,),
    networks: Collection[str] = tuple(MODELS),
) -> Iterator[Sample]:
    """Yield cells in an order that the seed decides, each once; more of them begin with the same ones.

    Every run has a seed of its own, for weights and feeds. ``noises`` come in turn. Cells are of ``networks`` only.
    """
    rng = np.random.default_rng([seed, planted])
    every = settings(networks)
    weights = np.array([RARELY if model in LONG else 1.0 for model, *_ in every])
    order = np.argsort(rng.exponential(size=len(every)) / weights)  # drawn by weight, none twice
    kinds = [
        KINDS[int(number)] for _ in range(len(every)) for number in rng.permutation(len(KINDS))
    ]
    for number, place in enumerate(order):
        model, device, surface, files, mode = every[int(place)]
        own = np.random.default_rng([seed, planted, number])
        training = model.endswith("_train")
        iterations = int(own.choice(ITERATIONS.get(model, (2, 3)))) if training else 1
        own_seed = int(own.integers(100_000))
        setting = Setting(model, own_seed, device, surface, files, mode, iterations)
        noise = noises[number % len(noises)]
        yield Sample(number, setting, kinds[number] if planted else "", noise)
