"""What pyproject.toml cannot say: examples are installed in the package, a kernel is built if there is a compiler.

Notebooks and sample dumps lie at the top. The kernel is a library of C that is loaded with ctypes: one file for every
version of Python, ``_kernel.so``. Without a compiler there is none, and NumPy's kernel serves.
"""

from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree
from zlib import crc32

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

LEFT_OUT = ignore_patterns("build", "__pycache__", ".ipynb_checkpoints")


class BuildWithExamples(build_py):
    """Build the package with the examples that ``workbench lab`` copies."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # a checkout has them at hand
        examples = Path(self.build_lib, "workbench", "examples")
        rmtree(examples, ignore_errors=True)
        for name in ("notebooks", "sample_dumps"):
            copytree(name, examples / name, ignore=LEFT_OUT)


class BuildLibrary(build_ext):
    """Build libraries that are not modules of Python."""

    def get_ext_filename(self, fullname: str) -> str:
        return fullname.replace(".", "/") + ".so"

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return []


class WheelOfEveryPython(bdist_wheel):
    """Name a wheel after the machine alone, and one without a library after none."""

    def get_tag(self) -> tuple[str, str, str]:
        built = any(Path(self.bdist_dir).rglob("_kernel.so"))
        return "py3", "none", super().get_tag()[2] if built else "any"


MEASURE = Path("workbench/comparison/measure")
SOURCES = [MEASURE / "kernel.c", MEASURE / "kernel_loops.h"]
KERNEL = Extension(
    "workbench.comparison.measure._kernel",
    sources=[str(SOURCES[0])],
    depends=[str(SOURCES[1])],
    define_macros=[("SOURCE", str(crc32(b"".join(path.read_bytes() for path in SOURCES))))],
    # the same bits wherever it runs: nothing is reordered or contracted
    extra_compile_args=["-O2", "-ftree-vectorize", "-ffp-contract=off", "-fvisibility=hidden", "-g0", "-Wno-psabi"],
    optional=True,
)  # fmt: skip

setup(
    ext_modules=[KERNEL],
    cmdclass={
        "bdist_wheel": WheelOfEveryPython,
        "build_ext": BuildLibrary,
        "build_py": BuildWithExamples,
    },
)
