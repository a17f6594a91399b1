"""A model of meaning from the package `wordllama`: a vector for each of 32,000 word pieces, a passage their mean.

Only the two data files of the package are used (weights of 16 MB), read with the libraries that it brings;
none of its code runs, and nothing is ever downloaded. Embedding a passage takes some 0.5 ms, where a transformer of
a small kind takes 80 ms on one core.

Frequent word pieces say little, so a passage's pieces count by their rarity. The pieces are numbered in the order of
how often they occur, and that number stands for the frequency, as Zipf's law has it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

_WEIGHTS: Final = os.path.join("weights", "l2_supercat_256.safetensors")
_PIECES: Final = os.path.join("tokenizers", "l2_supercat_tokenizer_config.json")
_FIRST_PIECE: Final = 259
"""Below are the control pieces and the 256 bytes."""
_RARITY: Final = 1e-3
"""Pieces less frequent than this count nearly whole."""


class WordVectors:
    """Word vectors in memory: 20 MB beside the libraries. Pure; threads share it.

    Args:
        folder: where the package `wordllama` is.

    Raises:
        ImportError: one of the libraries is missing.
        OSError: a file is missing or damaged.
    """

    name = "wordllama-l2-supercat-256/1"

    def __init__(self, folder: str) -> None:
        self._np: Any = import_module("numpy")
        try:
            weights = import_module("safetensors.numpy").load_file(os.path.join(folder, _WEIGHTS))
            self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(os.path.join(folder, _PIECES))
        except ImportError:
            raise
        except Exception as error:  # the libraries raise kinds of their own
            raise OSError(f"The model of meaning can't be read: {type(error).__name__}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._vectors: Any = next(iter(weights.values()))
        pieces = self._np.maximum(self._np.arange(len(self._vectors)) - _FIRST_PIECE + 1, 1)
        frequency = 1 / (pieces * self._np.log(len(self._vectors)))
        self._weights: Any = (_RARITY / (_RARITY + frequency)).astype("float32")
        self._word = lru_cache(maxsize=10_000)(self._embed_word)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return 256 signed bytes for each text, its direction; nothing where no piece of it is known."""
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._pack(self._mean(each.ids)) for each in encoded]

    def compare(self, words: Mapping[str, float], vectors: Sequence[bytes]) -> list[float]:
        """Return the cosine of the angle between the query and each vector."""
        query = sum(weight * self._word(word) for word, weight in words.items())
        matrix = self._np.frombuffer(b"".join(vectors), dtype="int8").reshape(len(vectors), -1).astype("float32")
        lengths = self._np.linalg.norm(matrix, axis=1) * (self._np.linalg.norm(query) or 1.0)
        return [float(each) for each in matrix @ query / lengths]

    def _embed_word(self, word: str) -> Any:
        vector = self._mean(self._tokenizer.encode(word, add_special_tokens=False).ids)
        return vector / (self._np.linalg.norm(vector) or 1.0)

    def _mean(self, pieces: list[int]) -> Any:
        if not pieces:
            return self._np.zeros(self._vectors.shape[1], dtype="float32")
        return self._weights[pieces] @ self._vectors[pieces].astype("float32") / len(pieces)

    def _pack(self, vector: Any) -> bytes:
        largest = float(self._np.abs(vector).max())
        return bytes(self._np.rint(vector * (127 / largest)).astype("int8").tobytes()) if largest else b""


def load_word_vectors() -> WordVectors | None:
    """Return the model; None where the package isn't installed.

    Raises:
        ImportError: it is, but not a library that it needs.
        OSError: its files can't be read.
    """
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        return None
    return WordVectors(next(iter(found.submodule_search_locations)))
