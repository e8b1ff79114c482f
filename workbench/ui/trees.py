"""Two dump trees that exist already, and how they are to be read."""

from __future__ import annotations

from dataclasses import dataclass, fields

Number = int | tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Trees:
    """Arguments of `workbench.pipeline.compare.compare`; empty texts and ``None`` leave them out."""

    target: str = ""
    golden: str = ""
    target_graph: str = ""
    golden_graph: str = ""
    target_model: str = ""
    golden_model: str = ""
    rank: Number = None
    iteration: Number = None

    @property
    def options(self) -> dict[str, object]:
        """What is given beside the trees themselves."""
        names = (field.name for field in fields(self)[2:])
        return {
            name: getattr(self, name) for name in names if getattr(self, name) not in ("", None)
        }

    @property
    def lacking(self) -> str:
        """Why nothing can be compared yet; empty if it can."""
        missing = [side for side in ("target", "golden") if not getattr(self, side)]
        return f"the {' and the '.join(missing)} tree must be chosen" if missing else ""
