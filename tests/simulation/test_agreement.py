"""What a check refuses, the simulation and the preview refuse, and nothing else: every form, before anything runs."""

from __future__ import annotations

from functools import partial

import pytest

from workbench.config import Context
from workbench.config.config import new, of_example
from workbench.config.form.rules import Example
from workbench.config.surface import SURFACES, get
from workbench.core.errors import ConfigError, FormatError
from workbench.core.writers import SIMULATED_SURFACES
from workbench.forecast.preview import foreseen_plan, preview
from workbench.network.models import load_graph
from workbench.npu.target import Target
from workbench.simulation.events import dumped_nothing
from workbench.simulation.lowering import lower
from workbench.simulation.simulate import simulate

SESSION = {"ge-both", "ge-collect-path", "ge-step"}
"""Problems over which the graph engine refuses a session after the vendor's reader took the form: nothing is dumped."""

NOT_SIMULATED = {
    "files": "torchair's capture modes",
    "dump/version-old": "MindSpore before 2.3",
}
"""What a simulation refuses although the vendor does not → of what."""

STEPS = (3, 7, 11)
"""How far apart the rules of a merged pair stand in their table."""


def examples(name: str) -> list[tuple[str, Example]]:
    rules = get(name).rules
    ways = [(f"{rule.id} breaks", rule.breaks) for rule in rules]
    return ways + [(f"{rule.id} keeps", rule.keeps) for rule in rules]


def merged(base, one, other):
    """What two forms change of a third, together; the second counts where both change a setting."""
    if not all(isinstance(form, dict) for form in (one, other)):
        return one if other == base else other
    base = base if isinstance(base, dict) else {}
    result = {}
    for key in dict.fromkeys((*one, *other)):
        before = base.get(key, ...)
        own, new = one.get(key, ...), other.get(key, ...)
        value = (
            merged(before, own, new)
            if isinstance(own, dict) and isinstance(new, dict)
            else (own if new == before else new)
        )
        if value is not ...:
            result[key] = value
    return result


def pairs(name: str):
    """Merged forms of rules that stand some rows apart, with both environments."""
    surface, found = get(name), examples(name)
    base = surface.template()
    broken = [(what, one) for what, one in found if isinstance(one.form, dict)]
    for step in STEPS:
        for index, (what, one) in enumerate(broken):
            other_name, other = broken[(index + step) % len(broken)]
            form = merged(base, one.form, other.form)
            env = {**one.context.env, **other.context.env}
            version = one.context.version or other.context.version
            yield f"{what} + {other_name}", Example(form, Context(version, env))


def forms(name: str):
    """Every form of a surface that is tried."""
    yield from examples(name)
    yield from pairs(name)


def refused(act) -> set[str]:
    """Names of the problems over which something refuses a form; empty if it takes it."""
    try:
        act()
    except ConfigError as error:
        return {one.id for one in error.problems}
    except FormatError as error:
        return {error.code}
    return set()


def session_refused(problems) -> bool:
    """Whether the graph engine refuses what the vendor's reader of the form took."""
    return any(one.id in SESSION for one in problems)


@pytest.mark.parametrize("name", SURFACES)
def test_what_one_refuses_all_refuse(name, tmp_path):
    surface, wrong = get(name), []
    device = "reference" if surface.name in ("mindspore-cpu", "mindspore-gpu") else "a2"
    target = Target.of(name, device) if name in SIMULATED_SURFACES else None
    for what, example in forms(name):
        config, context = of_example(surface, example), example.context
        problems = config.check(context)
        errors = {one.id for one in problems if one.severity == "error"}
        foreseen = partial(foreseen_plan, config, config.context(context))
        if refused(foreseen) != errors:
            wrong.append((what, "preview", errors, refused(foreseen)))
        if not errors and session_refused(problems) and foreseen()[1].iterations.ranges != ():
            wrong.append((what, "session", [one.id for one in problems]))
        if target is None or context.here:
            continue
        reasons = refused(partial(lower, config, target, tmp_path, context, 0))
        if reasons != errors and not (reasons <= NOT_SIMULATED.keys() and not errors):
            wrong.append((what, "simulate", errors, reasons))
    assert wrong == []


def test_several_hundred_forms_are_tried():
    assert sum(1 for name in SURFACES for _ in forms(name)) > 700


BOTH = {
    "dump.enable_dump": True, "dump.enable_dump_debug": True, "dump.dump_path": "/d",
}  # fmt: skip


def test_two_dumps_of_tensorflow_dump_nothing_and_say_why(tmp_path):
    config = changed(new("tensorflow"), BOTH)
    assert config.accepted()
    assert "ge-both" in {one.id for one in config.check()}
    told = []
    simulate(load_graph("mlp"), None, config, tmp_path / "out", device="a2", report=told.append)
    assert dumped_nothing(told)
    assert told[0].values["why"].values["problem"].startswith("enable_dump and enable_dump_debug")
    assert preview(config, "mlp").iterations == ()


def test_the_graph_engine_s_dump_of_exceptions_is_refused_everywhere(tmp_path):
    config = new("mindspore-ge").set("common_dump_settings.op_debug_mode", 4)
    assert not config.accepted()
    with pytest.raises(ConfigError):
        simulate(load_graph("mlp"), None, config, tmp_path, surface="mindspore-ge", device="a2")
    with pytest.raises(ConfigError):
        preview(config, "mlp")


def changed(config, settings):
    for path, value in settings.items():
        config = config.set(path, value)
    return config
