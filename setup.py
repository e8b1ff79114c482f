"""What pyproject.toml cannot say: notebooks and sample dumps lie at the top and are installed in the package."""

from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from setuptools import setup
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


setup(cmdclass={"build_py": BuildWithExamples})
