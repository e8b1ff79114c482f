"""Cells of networks, surfaces and devices, and forms that ask for steps: shared by scenarios."""

from __future__ import annotations

import os

from workbench.config import new

STEPS = {"tensorflow": "dump.dump_step", "torchair": "dump_config.dump_step"}


def two_by_two(networks, surfaces, devices):
    """As many cells as put every two of a network, a surface and a device together; all with ``GRID=all``."""
    return [
        (network, surface, device)
        for n, network in enumerate(networks)
        for s, surface in enumerate(surfaces)
        for d, device in enumerate(devices)
        if os.environ.get("GRID") == "all" or (n + s) % len(devices) == d
    ]


def first_form(surface):
    """The first form of a surface; MindSpore on the graph engine writes containers."""
    form = new(surface)
    if surface == "mindspore-ge":
        form = form.set("common_dump_settings.file_format", "bin")
    return form


def asked(surface, steps):
    """The first form of a surface that dumps steps (``0|2``, ``0-6``)."""
    return first_form(surface).set(STEPS.get(surface, "common_dump_settings.iteration"), steps)
