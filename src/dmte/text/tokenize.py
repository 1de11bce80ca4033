"""Tokenization: texts to words, on several cores.

The paper says only "a word sequence". Here a word is a lower-case run of letters, digits and marks
after Unicode compatibility normalization (NFKC). Chinese has no spaces and is split into
ideographs, one token each.

Python tokenizes on one core, so large inputs are divided among processes. Each process numbers its
words in order of first occurrence. Merging the parts in text order gives the same numbers for any
number of processes. A worker is a new Python process that reads its texts from a pipe. This works
from any program, and starts quickly because nothing here imports torch.
"""

import json
import re
import subprocess
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, count, pairwise
from typing import IO
from unicodedata import category, normalize

import numpy as np
from jaxtyping import Int

from dmte.runtime.children import module_paths, python_command

MIN_PARALLEL_CHARACTERS = 20_000_000
"""Total characters above which several processes save more time than they take to start."""
WORKER = "import sys; sys.path[:] = {paths}; from dmte.text.tokenize import serve; serve()"
"""Program of a worker, which finds modules where this process does."""

# The CJK unified ideographs, their extensions and the compatibility ideographs.
_IDEOGRAPH = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WITH_MARKS = (range(0x300, 0x20000), range(0xE0000, 0xE1000))
"""Code points with marks; Unicode reserves the others for ideographs, private use or the future."""


def tokenize(text: str) -> list[str]:
    """Split ``text`` into words, in order.

    >>> tokenize("The K-D-B-Tree: a search structure")
    ['the', 'k', 'd', 'b', 'tree', 'a', 'search', 'structure']
    >>> tokenize("图 graph 嵌入")
    ['图', 'graph', '嵌', '入']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    # Normalize again: some capitals have a lower-case letter only in decomposed form.
    lowered = normalize("NFKC", normalize("NFKC", text).lower())
    return _unicode_word().findall(lowered)


@cache
def _unicode_word() -> re.Pattern[str]:
    """Compile the pattern of one ideograph, or of a run of letters, digits and marks."""
    marks = "".join(c for c in map(chr, chain(*_WITH_MARKS)) if category(c)[0] == "M")
    letter = rf"(?![{_IDEOGRAPH}_])\w"
    return re.compile(rf"[{_IDEOGRAPH}]|{letter}(?:{letter}|[{marks}])*")


@dataclass(frozen=True, slots=True, eq=False)
class NumberedWords:
    """Texts as word numbers; words are numbered in order of first occurrence."""

    words: list[str]
    numbers: Int[np.ndarray, " tokens"]
    lengths: Int[np.ndarray, " texts"]


def number_words(texts: Iterable[str], processes: int = 1) -> NumberedWords:
    """Number the words of all texts; the result does not depend on ``processes``.

    >>> numbered = number_words(["to be or", "not to be"])
    >>> numbered.words, numbered.numbers.tolist(), numbered.lengths.tolist()
    (['to', 'be', 'or', 'not'], [0, 1, 2, 3, 0, 1], [3, 3])
    """
    if processes == 1:
        return _number(texts)
    texts = texts if isinstance(texts, Sequence) else list(texts)
    if sum(map(len, texts)) < MIN_PARALLEL_CHARACTERS:
        return _number(texts)
    bounds = [len(texts) * part // processes for part in range(processes + 1)]
    chunks = [texts[start:stop] for start, stop in pairwise(bounds)]
    with ThreadPoolExecutor(processes) as pool:  # One thread waits for each process.
        return _merge(list(pool.map(_number_in_process, chunks)))


def _number(texts: Iterable[str]) -> NumberedWords:
    known: defaultdict[str, int] = defaultdict(count().__next__)
    numbers, lengths = array("i"), array("i")
    for text in texts:
        words = tokenize(text)
        numbers.extend(map(known.__getitem__, words))
        lengths.append(len(words))
    return NumberedWords(list(known), np.asarray(numbers, np.int32), np.asarray(lengths, np.int32))


def _merge(parts: Sequence[NumberedWords]) -> NumberedWords:
    """Concatenate the parts and number their words in order of first occurrence."""
    known: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = [
        np.fromiter(map(known.__getitem__, part.words), np.int32, len(part.words))[part.numbers]
        for part in parts
    ]
    lengths = np.concatenate([part.lengths for part in parts])
    return NumberedWords(list(known), np.concatenate(numbers), lengths)


def _number_in_process(texts: Sequence[str]) -> NumberedWords:
    """Number the words of ``texts`` in a new process."""
    header = json.dumps(list(map(len, texts))).encode() + b"\n"
    finished = subprocess.run(
        python_command("-c", WORKER.format(paths=module_paths())),
        input=header + "".join(texts).encode("utf-8", "surrogatepass"),
        stdout=subprocess.PIPE,
        check=True,
    )
    sizes, _, rest = finished.stdout.partition(b"\n")
    ends = list(accumulate(json.loads(sizes), initial=0))
    words, numbers, lengths = (rest[start:stop] for start, stop in pairwise(ends))
    return NumberedWords(
        json.loads(words), np.frombuffer(numbers, np.int32), np.frombuffer(lengths, np.int32)
    )


def serve(source: IO[bytes] | None = None, sink: IO[bytes] | None = None) -> None:
    """Number the words of the texts on standard input; write the result to standard output."""
    source, sink = source or sys.stdin.buffer, sink or sys.stdout.buffer
    ends = accumulate(json.loads(source.readline()), initial=0)
    content = source.read().decode("utf-8", "surrogatepass")
    found = _number(content[start:stop] for start, stop in pairwise(ends))
    parts = json.dumps(found.words).encode(), found.numbers.tobytes(), found.lengths.tobytes()
    sink.write(json.dumps(list(map(len, parts))).encode() + b"\n")
    for part in parts:
        sink.write(part)
    sink.flush()
