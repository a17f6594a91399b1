"""Generates the Python messages and stubs from `protos/`, as hatch's build hook and as a script.

The protos' folders equal their package, so the generated `ironclaw/memory/v1` is importable as it falls out of protoc:
no import is patched. It isn't kept in git, so that messages and protos can't disagree.
"""

from __future__ import annotations

import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "src"


def protos_folder() -> Path:
    """Return the folder of the protos: beside us in a source distribution, at the repository's root in a checkout."""
    for folder in (HERE / "protos", HERE.parent.parent / "protos"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError("The folder 'protos' is neither here nor at the repository's root.")


def generate() -> None:
    """Write messages (`_pb2.py`, `.pyi`) and stubs (`_pb2_grpc.py`, `.pyi`) anew below `src/ironclaw`.

    Raises:
        RuntimeError: protoc refused; its complaint is on standard error.
    """
    from grpc_tools import protoc  # noqa: PLC0415  # a build requirement, absent where the package is only used

    protos = protos_folder()
    shutil.rmtree(OUTPUT / "ironclaw", ignore_errors=True)
    files = sorted(str(f.relative_to(protos)) for f in protos.rglob("*.proto"))
    plugin = Path(sys.executable).parent / "protoc-gen-mypy_grpc"
    arguments = [
        "protoc",
        f"-I{protos}",
        f"-I{resources.files('grpc_tools') / '_proto'}",
        f"--python_out={OUTPUT}",
        f"--pyi_out={OUTPUT}",
        f"--grpc_python_out={OUTPUT}",
        *([f"--plugin=protoc-gen-mypy_grpc={plugin}", f"--mypy_grpc_out={OUTPUT}"] if plugin.exists() else []),
        *files,
    ]
    if protoc.main(arguments) != 0:
        raise RuntimeError("protoc could not generate the Python code.")
    (OUTPUT / "ironclaw" / "memory" / "v1" / "py.typed").touch()


class GenerateHook(BuildHookInterface[Any]):
    """Runs `generate` before a wheel, an editable install or a source distribution is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatch's signature
        """Generate, whatever is built."""
        generate()


if __name__ == "__main__":
    generate()
