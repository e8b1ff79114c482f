"""Runs every configuration through real MindSpore on the CPU and records what comes of it.

MindSpore reads its configuration once per process, so each case gets a fork of a process that has
imported MindSpore and touched no device; ``--fresh N`` repeats N cases in processes of their own and
compares. Needs an environment with MindSpore: ``make conformance``.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ |= {"GLOG_v": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
if __name__ == "__main__":  # a case's own process keeps its variables
    for _name in [name for name in os.environ if name.startswith(("MS_", "MINDSPORE_", "RANK_"))]:
        del os.environ[_name]

import mindspore
import network
from generate import Case, cases
from record import write_record

CASE = "/CASE"
LIMIT = 60
"""Seconds that a case may take."""
LOGGED = 6
"""Lines of the log that are kept."""

_STAMP = re.compile(r"(?<=\.)\d{16}(?=\.)")
_LOG = re.compile(r"\[(WARNING|ERROR|CRITICAL)\] [^\]]*?\] (.*)")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="record to write")
    parser.add_argument("--only", default="", help="regular expression: run only these ids")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    chosen = [case for case in cases() if re.search(arguments.only, case["id"])]
    started = time.monotonic()
    outcomes = run_all(chosen, arguments.jobs, in_fork)
    fresh = chosen[:: max(1, len(chosen) // arguments.fresh)] if arguments.fresh else []
    again = run_all(fresh, arguments.jobs, in_process)
    differing = [(again[case], outcomes[case]) for case in again if again[case] != outcomes[case]]
    print(Counter(outcome["verdict"] for outcome in outcomes.values()))
    print(
        f"{time.monotonic() - started:.0f} s; {len(fresh)} again in fresh processes, differing: {differing}"
    )
    about = {
        "mindspore": mindspore.__version__,
        "steps": network.STEPS,
        "fresh_processes_agree": len(fresh),
    }
    write_record(arguments.out, about, chosen, outcomes)
    sys.exit(bool(differing))


def run_all(chosen: list[Case], jobs: int, start: Any) -> dict[str, dict[str, Any]]:
    """Outcome of each case by id; ``jobs`` at a time."""
    waiting, running, outcomes = list(reversed(chosen)), {}, {}
    while waiting or running:
        while waiting and len(running) < jobs:
            case = waiting.pop()
            folder = Path(tempfile.mkdtemp(prefix="conformance-"))
            place(case, folder)
            running[start(case, folder)] = (case, folder, time.monotonic())
        for pid, (case, folder, since) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() - since > LIMIT:
                os.kill(pid, signal.SIGKILL)
            if done:
                outcomes[case["id"]] = outcome(folder, status)
                shutil.rmtree(folder)
                del running[pid]
        time.sleep(0.005)
    return {case["id"]: outcomes[case["id"]] for case in chosen}


def place(case: Case, folder: Path) -> None:
    """Write the file of a case into ``folder/case``."""
    path = folder / "case" / case.get("file", "data_dump.json")
    path.parent.mkdir(parents=True)
    if case["text"] is not None:
        data = case["text"].replace(CASE, str(folder / "case"))
        path.write_bytes(data.encode("utf-8", "surrogateescape"))
    (folder / "before.json").write_text(json.dumps([str(p) for p in _written(folder / "case")]))


def environment(case: Case, folder: Path) -> dict[str, str]:
    """Environment variables of a case."""
    variable = case.get("variable", f"{CASE}/{case.get('file', 'data_dump.json')}")
    found = dict(case.get("env", {}))
    if variable is not None:
        found["MINDSPORE_DUMP_CONFIG"] = variable
    return {key: value.replace(CASE, str(folder / "case")) for key, value in found.items()}


def in_fork(case: Case, folder: Path) -> int:
    """Start a case in a fork of this process, which has MindSpore imported; give its number."""
    pid = os.fork()
    if not pid:
        _enter(case, folder)
        attempt(folder)
    return pid


def in_process(case: Case, folder: Path) -> int:
    """Start a case in a Python of its own; give its number."""
    pid = os.fork()
    if not pid:
        _enter(case, folder)
        here = str(Path(__file__).parent)
        code = f"import sys; sys.path.insert(0, {here!r}); from pathlib import Path; "
        code += f"import run_mindspore; run_mindspore.attempt(Path({str(folder)!r}))"
        os.execv(sys.executable, [sys.executable, "-c", code])
    return pid


def _enter(case: Case, folder: Path) -> None:
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(folder / "case")
    os.environ |= environment(case, folder)


def attempt(folder: Path) -> None:
    """Run the network, leave the exception in ``result.json`` and end the process."""
    result = {"verdict": "accepted"}
    try:
        network.run()
    except BaseException as error:
        message = str(error).strip().splitlines()
        result = {
            "verdict": "refused",
            "type": type(error).__name__,
            "message": "".join(message[:1])[:250],
        }
    (folder / "result.json").write_text(json.dumps(result))
    atexit._run_exitfuncs()  # MindSpore reports operators that it never met when it shuts down
    os._exit(0)


def outcome(folder: Path, status: int) -> dict[str, Any]:
    """What is left of a case: verdict, message, log lines about the dump, files by folder."""
    result: dict[str, Any] = {"verdict": "crashed", "status": status}
    if (folder / "result.json").is_file():
        result = json.loads((folder / "result.json").read_text())
    if status and os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        result |= {"verdict": "too slow" if name == "SIGKILL" else "crashed", "status": name}
    text = (folder / "log").read_text(errors="replace")
    log = _log_lines(text.replace(str(folder / "case"), CASE).replace(str(folder), CASE))
    before = json.loads((folder / "before.json").read_text())
    found = _by_folder(
        [p for p in _written(folder / "case") if str(p) not in before], folder / "case"
    )
    result |= ({"log": log} if log else {}) | ({"files": found} if found else {})
    here = json.dumps(result).replace(str(folder / "case"), CASE).replace(str(folder), CASE)
    return json.loads(here)


def _log_lines(text: str) -> list[str]:
    """What MindSpore logged about the dump: level, function and message, without time and process."""
    matches = [
        m for line in text.splitlines() if "dump" in line.lower() and (m := _LOG.match(line))
    ]
    found = [_STAMP.sub("*", f"{m[1]} {m[2][:200]}") for m in matches]
    found = [re.sub(r"(json contents:.{20}).*", r"\1…", line) for line in dict.fromkeys(found)]
    return found[:LOGGED] + [f"… and {len(found) - LOGGED} more"] * (len(found) > LOGGED)


def _written(folder: Path) -> list[Path]:
    return sorted(Path(base, name) for base, _, names in os.walk(folder) for name in names)


def _by_folder(paths: list[Path], base: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        names = found.setdefault(str(path.parent.relative_to(base)), [])
        names.append(_STAMP.sub("*", path.name))
    return {folder: sorted(names) for folder, names in found.items()}


if __name__ == "__main__":
    main()
