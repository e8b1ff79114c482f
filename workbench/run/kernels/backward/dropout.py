"""`Dropout` and its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]


def dropout(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Keep each element with probability ``keep_prob``, scaled by its inverse; return the mask, too.

    The two seeds decide, and nothing else: also the seeds 0, by which MindSpore chooses anew every
    time. So two runs of a network drop the same elements and can be compared.
    """
    x, kept = inputs[0], float(settings["keep_prob"])
    seeds = [abs(int(settings[name])) for name in ("Seed0", "Seed1")]
    mask = (np.random.default_rng(seeds).random(x.shape) < kept).astype(x.dtype)
    return [x * (mask / x.dtype.type(kept)), mask]


def gradient(inputs: Sequence[Array], settings: Mapping[str, Any]) -> list[Array]:
    """Gradient · mask / ``keep_prob``."""
    dout, mask = inputs
    return [dout * (mask / dout.dtype.type(settings["keep_prob"]))]
