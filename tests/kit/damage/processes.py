"""What is done in a process of its own: damaged files read with little memory, runs killed at a moment.

Without arguments, damaged files and trees are read, and the answers say what went wrong. Each line of the input
is ``[name, first, count]``, a row of `good_files.READERS` or `good_files.TREES` and numbers of mutations; the
answer is a line of JSON. One act of reading may take a second of the processor, and of memory ten times the
size of what it reads and a kilobyte for each thing found; only files below the damaged one's folder are opened,
and only ``out`` is written.

With a job, a row of `JOBS`, and a folder for what it needs, the job is run in a child that is killed. Each line
of the input is ``[folder to write, seconds, operation]``: the child is killed after so many seconds, before its
n-th operation on files, or never if both are null. The answer is a line of JSON: how long it ran, how many
operations there were, whether it was killed. Children are forked, so a moment may be any from the first line of
the job on.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
import tracemalloc
import warnings
from collections.abc import Sized
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import workbench as wb
from kit.damage.good_files import READERS, TREES, Reader, acts
from kit.damage.mutations import damage, mutated
from workbench.config import new
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.transdata import to_device
from workbench.dump.formats.container import Container
from workbench.dump.formats.container_write import tensor_block, write_container
from workbench.network.models import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Act = Callable[[], object]

# ---------------------------------------------------------------- reading damaged files

SECONDS = 1.0
PATIENCE = 20
"""Seconds by the clock after which a reader that waits, for a pipe for one, is interrupted."""

TIMES = 10
"""Most memory that reading may take, in sizes of what is read, beyond `SPARE`."""

SPARE, SPARE_FOR_REPORTS = 4 << 20, 8 << 20
EACH = 1 << 10
"""Bytes that a tensor, row or operator may take: a row of forty bytes can be a good one."""

ROOM = 1 << 30
"""What the process may allocate beyond what it starts with, touched or not."""

TRACED = 25
"""Of so many mutations one is read again under tracemalloc."""

WRITES = (
    "shutil.rmtree", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod",
)  # fmt: skip
CODE = (
    os.path.realpath(sys.prefix),
    sys.base_prefix,
    "/usr",
    "/proc",
    "/dev/zero",
    str(Path(__file__).parents[3]),
)
"""Where a process may read at any time."""


class TooSlow(BaseException):
    """Raised by the timers; nobody catches it."""


class Watch:
    """What a reader does besides reading."""

    def __init__(self) -> None:
        self.root = ""
        self.strayed: list[str] = []
        signal.signal(signal.SIGPROF, self._ring)
        signal.signal(signal.SIGALRM, self._ring)
        sys.addaudithook(self._see)

    def _ring(self, *_: object) -> None:
        raise TooSlow

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.root or (event != "open" and event not in WRITES):
            return
        if event in ("os.remove", "os.rmdir") and arguments[1] != -1:
            return  # below a folder that shutil.rmtree has opened
        paths = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
        writes = event != "open" or _is_writing(*arguments[1:3])
        self.strayed += [f"{event} {path}" for path in paths if self._is_astray(path, writes)]

    def _is_astray(self, path: Any, writes: bool) -> bool:
        if isinstance(path, int):
            return False
        full = os.path.realpath(os.fsdecode(path))
        home = f"{self.root}/inside/out" if writes else self.root
        return not f"{full}/".startswith((f"{home}/", *(() if writes else CODE)))

    @contextmanager
    def over(self, folder: Path, seconds: float = PATIENCE) -> Iterator[None]:
        self.root, self.strayed = os.path.realpath(folder), []
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.root = ""


def _is_writing(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return bool(set(mode) & set("wax+"))
    if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", 1):
        return False  # a file without a name
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))


def resident() -> tuple[int, int]:
    """Bytes that the process holds, and that it held at most since `forget`."""
    found = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(found["VmRSS"].split()[0]) << 10, int(found["VmHWM"].split()[0]) << 10


def forget() -> int:
    """Start counting anew; return what is held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident()[0]


class Ward:
    """One row under observation, and its figures so far: each ``[most, number of the mutation]``."""

    spare = SPARE

    def __init__(self, folder: Path, watch: Watch) -> None:
        self.folder, self.root, self.watch = folder, folder / "inside", watch
        self.report: dict[str, Any] = {
            "read": 0, "refused": 0, "failures": [], "seconds": [0.0, -1], "times": [0.0, -1], "traced": [0.0, -1],
        }  # fmt: skip

    def mutation(self, number: int, size: int, work: Iterable[Act]) -> None:
        """Do some work on damaged files of ``size`` bytes."""
        for act in work:
            before, start = forget(), time.process_time()
            spare = self._do(act, number) * EACH + self.spare
            self._most("seconds", time.process_time() - start, number)
            grown = resident()[1] - before
            if grown > TIMES * size + spare:  # it may be the garbage of others
                grown = min(grown, self._once_more(act, number))
            self._grew("times", grown - spare, size, number)
            if number % TRACED == 0:
                self._clean()
                tracemalloc.start()
                self._do(act, number, again=True)
                grown = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                self._grew("traced", grown - spare, size, number)
            self._clean()

    def _once_more(self, act: Act, number: int) -> int:
        """Bytes that an act takes where nothing is left of those before."""
        self._clean()
        gc.collect()
        before = forget()
        self._do(act, number, again=True)
        return resident()[1] - before

    def _clean(self) -> None:
        shutil.rmtree(self.root / "out", ignore_errors=True)

    def _do(self, act: Act, number: int, *, again: bool = False) -> int:
        """Return how many things were found."""
        outcome, failure, found = "read", "", None
        try:
            with self.watch.over(self.folder, SECONDS * (10 if again else 1)):
                found = act()
        except FormatError as error:
            outcome = "refused"
            if os.path.join(*self.folder.parts[-2:]) not in str(
                error
            ):  # long paths are cut in the middle
                failure = f"no place: {error} {_where()}"
        except WorkbenchError:
            outcome = "refused"
        except TooSlow:
            failure = "too slow: " + _where()
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"[:300] + " " + _where()
        self.report[outcome] += not again
        if failure or self.watch.strayed:
            self._fail(number, failure or f"strayed: {self.watch.strayed[:3]}")
        return len(found) if isinstance(found, Sized) else 0

    def _grew(self, what: str, grown: int, size: int, number: int) -> None:
        self._most(what, grown / max(size, 1), number)
        if grown > TIMES * size:
            self._fail(number, f"memory ({what}): {grown} bytes to read {size}")

    def _most(self, what: str, value: float, number: int) -> None:
        self.report[what] = max(self.report[what], [round(value, 3), number])

    def _fail(self, number: int, text: str) -> None:
        self.report["failures"].append([number, text])


class FileWard(Ward):
    """A reader of one file."""

    def __init__(self, folder: Path, watch: Watch, name: str, reader: Reader) -> None:
        super().__init__(folder, watch)
        self.name, self.reader = name, reader
        self.goods, self.around = list(reader.files().items()), reader.around()
        for path, data in self.around.items():
            self._put(path, data)
        self.asked: set[int] = set()

    def _ask_good(self, number: int) -> None:
        """Ask a good file before the first damage to it: imports and caches are then paid."""
        path, data = self.goods[number % len(self.goods)]
        self._put(path, self.reader.packed(path, data))
        with self.watch.over(self.folder):
            self.reader.ask(self.root, self.root / path, number)
        self._clean()
        self._put_back(path)

    def _put(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def _put_back(self, path: str) -> None:
        if path in self.around:
            self._put(path, self.around[path])
        else:
            (self.root / path).unlink()

    def mutate(self, number: int) -> None:
        """Damage one file, and read it."""
        place = number % len(self.goods)
        if place not in self.asked:
            self.asked.add(place)
            self._ask_good(number)
        path, good = self.goods[place]
        data = mutated(good, [data for _, data in self.goods], (self.name, number))
        data = self.reader.packed(path, data)
        self._put(path, data)
        act = lambda: self.reader.ask(self.root, self.root / path, number)  # noqa: E731
        self.mutation(number, len(data), [act])
        self._put_back(path)


class TreeWard(Ward):
    """A tree, of which some files are damaged at once."""

    spare = SPARE_FOR_REPORTS

    def __init__(self, folder: Path, watch: Watch, name: str) -> None:
        super().__init__(folder, watch)
        self.name, self.whole, self.tree = name, folder / "whole", self.root / "tree"
        self.report["files"] = 0
        self.whole.mkdir(parents=True)
        TREES[name](self.whole)
        (self.root / "outside").mkdir(parents=True)
        self._copy()
        number = 1 if "workbench.show.report" in sys.modules else 0  # one report pays for all
        for act in acts(self.root, self.tree, self.whole, number):
            with suppress(WorkbenchError):  # there may be nothing to convert
                act()
            self._clean()

    def _copy(self) -> None:
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(self.whole, self.tree)

    def mutate(self, number: int) -> None:
        """Damage a copy of the tree, and do everything with it."""
        self._copy()
        self.report["files"] += damage(self.tree, (self.name, number))
        size = sum(path.lstat().st_size for path in self.tree.rglob("*"))
        size += sum(path.stat().st_size for path in self.whole.rglob("*"))
        self.mutation(number, size, acts(self.root, self.tree, self.whole, number))
        if os.listdir(self.root / "outside"):
            self._fail(number, "written through a link")


def limit() -> None:
    """Take away the memory that no reader of small files needs."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))


def read_mutants() -> None:
    """Answer from standard input, in a process that has little memory."""
    warnings.simplefilter("error")
    watch = Watch()
    wards: dict[str, FileWard | TreeWard] = {}
    with TemporaryDirectory() as folder:
        for line in sys.stdin:
            name, first, count = json.loads(line)
            if name not in wards:
                home = Path(folder) / str(len(wards))
                wards[name] = (
                    TreeWard(home, watch, name)
                    if name in TREES
                    else FileWard(home, watch, name, READERS[name])
                )
            if len(wards) == 1:
                limit()
            for number in range(first, first + count):
                wards[name].mutate(number)
            print(json.dumps(wards[name].report), flush=True)


def _where() -> str:
    """Where the error in flight was raised: the innermost frames of the package."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [one for one in frames if "workbench" in one.filename]
    return " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(ours[-4:]))


# ---------------------------------------------------------------- killing runs

SHAPE = (2, 32, 16, 16)


def simulation(surface: str, _folder: Path, /, **settings: Any) -> Callable[[str], object]:
    config = new(surface, **settings)
    graph = load_graph("resnet" if "KILLS" in os.environ else "lenet")
    return lambda out: wb.simulate(
        graph, None, config, out, device="a2", surface=surface, iterations=2
    )


def conversion(folder: Path) -> Callable[[str], object]:
    """Containers in a device format, some of which have names that become too long."""
    dump = folder / "dump"
    dump.mkdir(parents=True, exist_ok=True)
    host = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    there = to_device(host, "NCHW", "NC1HWC0")
    for number in range(60):
        fields = {"format": "NC1HWC0", "original_shape": SHAPE}
        block, data = tensor_block("output", 0, there + number, **fields)
        with (dump / f"Conv2D.{'n' * (230 if number % 5 == 0 else 3)}.1.2.{number}").open(
            "wb"
        ) as file:
            write_container(file, Container((block,)), [data])
    return lambda out: wb.convert(dump, out, format="NCHW")


JOBS: dict[str, Callable[[Path], Callable[[str], object]]] = {
    "mindspore-o0o1": partial(
        simulation, "mindspore-o0o1", common_dump_settings__saved_data="full", common_dump_settings__iteration="all"
    ),
    "mindspore-o2": partial(
        simulation, "mindspore-o2", common_dump_settings__file_format="npy", common_dump_settings__iteration="all"
    ),
    "acl": partial(simulation, "acl"),
    "torchair": partial(simulation, "torchair"),
    "tensorflow": partial(simulation, "tensorflow"),
    "convert": conversion,
}  # fmt: skip


class Operations:
    """Counts what a process does to files below a folder, and kills it before the n-th time."""

    def __init__(self, out: str, last: int | None) -> None:
        self.out, self.last, self.count = out, last, 0
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
            if not isinstance(arguments[0], int) and self.out in os.fsdecode(arguments[0]):
                self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def run(
    job: Callable[[str], object], out: str, seconds: float | None, operation: int | None
) -> dict[str, Any]:
    """Do the job in a child."""
    start = time.perf_counter()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            operations = Operations(out, operation)
            job(out)
            os.write(tell, str(operations.count).encode())
            status = 0
        finally:
            os._exit(status)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(tell)
    with open(told, "rb") as pipe:
        count = int(pipe.read() or 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "operations": count, "killed": os.WIFSIGNALED(status)}


def run_and_kill(name: str, folder: str) -> None:
    """Answer from standard input, in the parent of the children."""
    job = JOBS[name](Path(folder))
    job(f"{folder}/once")  # imports are paid here
    for line in sys.stdin:
        print(json.dumps(run(job, *json.loads(line))), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        run_and_kill(*sys.argv[1:])
    else:
        read_mutants()
