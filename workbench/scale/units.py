"""Units of a job: one rank in one iteration, with all that its comparison depends on.

All graphs of a rank are in one unit, since errors flow from one to the next. Where ranks share their tensors in
different ways on both sides, a unit is an iteration of all ranks.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from workbench._values import NamedTuple, dataclass
from workbench.comparison.map_file import NO_OVERRIDES, Overrides, parse_overrides, to_data
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.core.errors import AlignError
from workbench.scale.parts import file_stamp, list_tree, merge_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from workbench.comparison.differing import Depth
    from workbench.scale.job_layouts import JobLayouts
    from workbench.scale.parts import Part, Tree

    Places = Mapping[tuple[int, int], Part]
    """Part by rank and iteration."""

T = TypeVar("T")

Numbers = str | int
"""``all``, or numbers and ranges: ``0-7,12``."""

ALL = "all"
_VERSION = 1
"""Of a unit's file; another one is compared again."""


class GivenFiles(NamedTuple):
    """Graph and model files beside the trees; empty where none was given."""

    target_graph: str = ""
    golden_graph: str = ""
    target_model: str = ""
    golden_model: str = ""

    @property
    def graphs(self) -> tuple[str, str]:
        """Graph files of both sides."""
        return self.target_graph, self.golden_graph

    @property
    def models(self) -> tuple[str, str]:
        """Model files of both sides."""
        return self.target_model, self.golden_model


NO_FILES = GivenFiles()


@dataclass(frozen=True, slots=True)
class Settings:
    """How every unit is compared; fields as those of `workbench.session.compare.compare`.

    ``depth`` is how far every unit goes; what is diagnosed is explained in any case. With ``layouts`` the tensors of
    ranks are joined before they are compared.
    """

    overrides: Overrides = NO_OVERRIDES
    given: GivenFiles = NO_FILES
    profile: str = NOISE_FLOOR
    require: float = 100.0
    allow_missing: tuple[str, ...] = ()
    depth: Depth = "replayed"
    layouts: JobLayouts | None = None

    @property
    def digest(self) -> str:
        """Changes with any of them, and with the graph files that are given."""
        graphs = [file_stamp(one) for one in self.given.graphs if one]
        said = f"{self}\n{graphs}"
        return hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        said: dict[str, Any] = self.given._asdict()
        said |= {name: getattr(self, name) for name in _PLAIN}
        said |= {"allow_missing": [*self.allow_missing]}
        said |= {"overrides": to_data(self.overrides), "map_file": self.overrides.path}
        return said | {"layouts": None if self.layouts is None else self.layouts.to_json()}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Settings:
        """Return what `to_json` gave; raises FormatError, KeyError, TypeError or ValueError for anything else."""
        from workbench.scale.job_layouts import JobLayouts

        layouts = said["layouts"]
        return replace(
            cls(**{name: said[name] for name in _PLAIN}),
            given=GivenFiles(*(said[name] for name in GivenFiles._fields)),
            overrides=parse_overrides(said["overrides"], said["map_file"]),
            allow_missing=tuple(said["allow_missing"]),
            layouts=None if layouts is None else JobLayouts.from_json(layouts),
        )


_PLAIN = ("profile", "require", "depth")
"""Settings that are text or a number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One rank in one iteration, on both sides.

    ``fingerprint`` is of everything that its comparison depends on: names, sizes and times of all files, settings,
    and the version of the workbench. A unit of all ranks is that of rank 0; ``before`` are both sides in the
    iteration before, which tell who still holds what it held then, and which weights it left.
    """

    rank: int
    iteration: int
    target: Part
    golden: Part
    fingerprint: str
    before: tuple[Part, Part] | None = None

    @property
    def name(self) -> str:
        """Its file below the result's folder, without the suffix."""
        return f"rank_{self.rank:05d}/iteration_{self.iteration:07d}"

    @property
    def nbytes(self) -> int:
        """Bytes of its files on both sides."""
        return self.target.nbytes + self.golden.nbytes


class Missing(NamedTuple):
    """A rank and iteration that one side does not have; ``side`` is the one that lacks it."""

    side: str
    rank: int
    iteration: int


@dataclass(frozen=True)
class JobPlan:
    """All units of a job in order, and what one side does not have; ``known_ranks`` are those of both trees.

    Where not all of these are compared, nothing can be said of what all ranks together must give.
    """

    target: str
    golden: str
    settings: Settings
    units: tuple[Unit, ...]
    missing: tuple[Missing, ...]
    known_ranks: frozenset[int]

    @property
    def nbytes(self) -> int:
        """Bytes that are read, at least once."""
        return sum(one.nbytes for one in self.units)

    @property
    def files(self) -> int:
        """Files that are read."""
        return sum(one.target.files + one.golden.files for one in self.units)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of its units."""
        return tuple(sorted({one.rank for one in self.units}))

    @property
    def iterations(self) -> tuple[int, ...]:
        """Iterations of its units."""
        return tuple(sorted({one.iteration for one in self.units}))


def plan_job(
    target: str | Path,
    golden: str | Path,
    *,
    ranks: Numbers = ALL,
    iterations: Numbers = ALL,
    settings: Settings | None = None,
) -> JobPlan:
    """Return what is to be compared, and how many bytes that is: both trees are listed once, and no file is opened.

    Raises FormatError if a path is no dump, AlignError if nothing of what is chosen is on both sides or the choice
    is none.
    """
    trees = list_tree(target), list_tree(golden)
    return plan_trees(trees, ranks=ranks, iterations=iterations, settings=settings)


def plan_trees(
    trees: tuple[Tree, Tree],
    *,
    ranks: Numbers = ALL,
    iterations: Numbers = ALL,
    settings: Settings | None = None,
) -> JobPlan:
    """Return what is to be compared of trees that were listed; otherwise as `plan_job`."""
    chosen = _chosen("ranks", ranks), _chosen("iterations", iterations)
    given = settings or Settings()
    ours, theirs = (one.parts() for one in trees)
    if given.layouts is None:
        units, missing = _by_rank(ours, theirs, chosen, given.digest)
    else:
        if chosen[0] is not None:
            raise AlignError("job/joined-ranks", got=ranks)
        units, missing = _by_iteration(ours, theirs, chosen[1], given, given.layouts)
    if not units:
        places = [_told(one) for one in trees]
        raise AlignError("job/nothing-common", target=places[0], golden=places[1])
    known = trees[0].ranks | trees[1].ranks
    return JobPlan(trees[0].path, trees[1].path, given, tuple(units), tuple(missing), known)


def _by_rank(
    ours: Places, theirs: Places, chosen: tuple[frozenset[int] | None, ...], digest: str
) -> tuple[list[Unit], list[Missing]]:
    """Units of a rank and an iteration each, and what one side does not have."""
    wanted = [place for place in sorted({*ours, *theirs}) if _is_chosen(place, chosen)]
    both = [place for place in wanted if place in ours and place in theirs]
    missing = [
        Missing(side, *place)
        for place in wanted
        for side, parts in _named(ours, theirs)
        if place not in parts
    ]
    return [_unit(place, ours[place], theirs[place], digest) for place in both], missing


def _by_iteration(
    ours: Places,
    theirs: Places,
    chosen: frozenset[int] | None,
    settings: Settings,
    layouts: JobLayouts,
) -> tuple[list[Unit], list[Missing]]:
    """Units of all ranks in an iteration, and ranks that one side does not have."""
    target, golden = _of_iterations(ours), _of_iterations(theirs)
    digest, units, missing = settings.digest, list[Unit](), list[Missing]()
    for iteration in sorted({*target, *golden}):
        if chosen is not None and iteration not in chosen:
            continue
        for side, held in _named(target.get(iteration, {}), golden.get(iteration, {})):
            wanted = layouts.ranks_of(side) if held else (0,)
            missing += [Missing(side, rank, iteration) for rank in wanted if rank not in held]
        if iteration in target and iteration in golden:
            both, before = (_both(target, golden, at) for at in (iteration, iteration - 1))
            assert both is not None
            units.append(_unit((0, iteration), *both, digest, before))
    return units, missing


def _both(
    target: Mapping[int, Mapping[int, Part]], golden: Mapping[int, Mapping[int, Part]], at: int
) -> tuple[Part, Part] | None:
    """Return all ranks of either side in an iteration; `None` if one does not have it."""
    if at not in target or at not in golden:
        return None
    return merge_parts([*target[at].values()]), merge_parts([*golden[at].values()])


def _of_iterations(places: Places) -> dict[int, dict[int, Part]]:
    """Parts by iteration and rank."""
    found: dict[int, dict[int, Part]] = defaultdict(dict)
    for (rank, iteration), part in places.items():
        found[iteration][rank] = part
    return dict(found)


def _named(target: T, golden: T) -> tuple[tuple[str, T], tuple[str, T]]:
    return ("target", target), ("golden", golden)


def _unit(
    place: tuple[int, int],
    target: Part,
    golden: Part,
    settings: str,
    before: tuple[Part, Part] | None = None,
) -> Unit:
    from workbench import __version__

    said = (_VERSION, __version__, settings, place, target.path, golden.path)
    earlier = [one.digest for one in before or ()]
    text = "\n".join(map(str, (*said, target.digest, golden.digest, *earlier)))
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return Unit(*place, target, golden, digest, before)


def _told(tree: Tree) -> str:
    ranks = sorted(tree.ranks)
    iterations = sorted({iteration for _, iteration in tree.places})
    return f"ranks {spans(ranks)}, iterations {spans(iterations)}"


def _is_chosen(place: tuple[int, int], chosen: tuple[frozenset[int] | None, ...]) -> bool:
    return all(some is None or number in some for number, some in zip(place, chosen, strict=True))


def _chosen(name: str, given: Numbers) -> frozenset[int] | None:
    """Read a choice; ``None`` is everything."""
    text = str(given).replace(" ", "")
    if text == ALL:
        return None
    found: set[int] = set()
    for part in text.split(","):
        one = _RANGE.fullmatch(part)
        first, last = (int(one[1]), int(one[2] or one[1])) if one is not None else (1, 0)
        if not first <= last < first + _MOST:
            raise AlignError("job/numbers", name=name, got=given)
        found |= {*range(first, last + 1)}
    return frozenset(found)


_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_MOST = 1 << 20
"""Most numbers of a range."""


def spans(numbers: Iterable[int]) -> str:
    """Write numbers as ranges.

    >>> spans([0, 1, 2, 3, 5, 7, 8]), spans([])
    ('0-3, 5, 7-8', 'none')
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ", ".join("-".join(map(str, one)) for one in found) or "none"
