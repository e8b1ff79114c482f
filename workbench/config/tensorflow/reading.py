"""What a TensorFlow form comes to: whether it dumps, how it was ported, and what GE meets of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.config.form.rules import Reading
from workbench.config.ge.options import SessionOptions
from workbench.config.tensorflow.find import OPTIMIZER
from workbench.config.tensorflow.refusals import REFUSALS
from workbench.config.tensorflow.settings import dumps, takes_arguments

if TYPE_CHECKING:
    from workbench.config.context import Context
    from workbench.config.tensorflow.settings import TensorFlowForm


@dataclass(frozen=True, slots=True)
class TensorFlowReading(Reading):
    """What a release makes of a form; ``ge`` is what GE gets of a form that npu_bridge takes."""

    ge: SessionOptions

    @property
    def dumps(self) -> bool:
        """Whether either kind of dump is on."""
        return dumps(self.form)

    @property
    def on_device(self) -> bool:
        """Whether npu_bridge runs the graphs on the device: nothing is dumped elsewhere."""
        script = self.form.script
        return bool(script.use_off_line) and script.optimizer == OPTIMIZER

    @property
    def takes_arguments(self) -> bool:
        """Whether the settings are arguments of ``DumpConfig`` and ``NPURunConfig``."""
        return takes_arguments(self.form)

    @property
    def ported_by_hand(self) -> bool:
        """Whether the script's own lines keep the graph on the device."""
        script = self.form.script
        return script.porting == "manual" and script.interface in ("session", "keras")


def reading(form: TensorFlowForm, context: Context) -> TensorFlowReading:
    """Return what npu_bridge makes of a form, and GE after it."""
    alone = TensorFlowReading(form, context, SessionOptions())
    if any(True for rule in REFUSALS for _ in rule.problems(alone)):
        return alone
    dump, collect = form.dump, context.variable("NPU_COLLECT_PATH")
    ge = SessionOptions(dump.enable_dump, dump.enable_dump_debug, dump.dump_step, collect)
    return replace(alone, ge=ge)


def variable(form: TensorFlowForm, context: Context, name: str) -> str:
    """Value of a variable of the environment: the script's own, else the process's."""
    own: str = getattr(form.environment, name)
    return own or context.variable(name)
