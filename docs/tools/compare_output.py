r"""What a page shows under a command, compared with what the command prints.

- Words, order and layout must be equal, except for blanks in front of a number.
- A whole number must be equal. A decimal or a percentage may differ by 2 of its last digit or by
  2 %, since the last bits depend on the machine and its number of threads.
- Seconds, megabytes and the best epoch depend on the machine and may be anything.
- A line of three dots stands for omitted lines, three dots inside a line for omitted words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

DOTS = "..."

NUMBER = re.compile(r" *(\d[\d,]*(?:\.\d+)?)")
MACHINE_DEPENDENT = re.compile(
    r"\d[\d.]* s\b|\d[\d,.]* MB\b|(?<=epoch )\d+"
    r"|^(?:training memory, MB|peak memory, MB|epoch seconds|training seconds|megabytes) .*$"
    r"|\d\.\d {3,}[\d,]{3,}$",  # the last columns of evaluate: seconds of a fit, megabytes
    re.MULTILINE,
)


def matches(shown: str, printed: str) -> bool:
    r"""Compare what a page shows with what was printed.

    >>> matches("a 0.512\n...\nend", "a 0.513\nmiddle\nend\n")
    True
    >>> matches("432 vertices in 1.5 s", "431 vertices in 1.5 s")
    False
    """
    shown, printed = shown.strip(), printed.strip()
    free = [found.span() for found in MACHINE_DEPENDENT.finditer(shown)]
    pattern, expected, at = "", [], 0
    for number in NUMBER.finditer(shown):
        pattern += _pattern(shown[at : number.start()]) + r" *(\d[\d,]*(?:\.\d+)?)"
        is_free = any(low <= number.start(1) < high for low, high in free)
        expected.append(None if is_free else _Number(number[1], shown[number.end() :]))
        at = number.end()
    found = re.fullmatch(pattern + _pattern(shown[at:]), printed, re.DOTALL)
    return found is not None and all(
        number is None or number.is_close(other)
        for number, other in zip(expected, found.groups(), strict=True)
    )


def update_shown(shown: str, printed: str) -> str:
    r"""Return the new output with the same parts omitted as in the old one.

    >>> update_shown("vertices 3\n...\nin ... s\n", "vertices 4\nmore\nin 5 s\n")
    'vertices 4\n...\nin ... s\n'
    """
    if not shown:
        return ""
    new = [line.rstrip() for line in printed.strip("\n").split("\n")]
    parts = _split(shown.rstrip("\n").split("\n"))
    kept = [
        [_omit_words(old, line) for old, line in zip(part, lines, strict=True)]
        if len(part) == len(lines)
        else lines
        for part, lines in zip(parts, _new_parts(parts, new), strict=True)
    ]
    return "\n".join(line for part in _join(kept) for line in part) + "\n"


@dataclass(frozen=True, slots=True)
class _Number:
    """A number on a page and the text after it."""

    written: str
    after: str

    def is_close(self, other: str) -> bool:
        decimals = len(self.written.partition(".")[2])
        if not decimals and not self.after.startswith(" %"):
            return other == self.written
        mine, theirs = (float(number.replace(",", "")) for number in (self.written, other))
        return abs(mine - theirs) <= max(2.001 * 10.0**-decimals, 0.02 * mine)


def _pattern(text: str) -> str:
    return ".*?".join(map(re.escape, text.split(DOTS)))


def _split(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines between lines of dots."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == DOTS:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _join(parts: Sequence[list[str]]) -> Iterator[list[str]]:
    for number, part in enumerate(parts):
        yield [DOTS, *part] if number else part


def _new_parts(parts: Sequence[list[str]], lines: list[str]) -> list[list[str]]:
    """Return the new lines that take the place of each part."""
    if len(parts) == 1:
        return [lines]
    middle = [_find_part(part, lines) for part in parts[1:-1]]
    return [lines[: len(parts[0])], *middle, lines[len(lines) - len(parts[-1]) :]]


def _find_part(part: Sequence[str], lines: list[str]) -> list[str]:
    """Return the lines from the one that begins like the part's first, whatever its numbers."""
    start = NUMBER.sub("", part[0]).split(DOTS)[0]
    at = next(at for at, line in enumerate(lines) if NUMBER.sub("", line).startswith(start))
    return lines[at : at + len(part)]


def _omit_words(old: str, new: str) -> str:
    """Return a new line with dots in place of the words that the old line omits."""
    kept = [re.sub(r"\\?\d+", r"\\d+", re.escape(part)) for part in old.split(DOTS)]
    found = re.fullmatch("(" + ").*?(".join(kept) + ")", new)
    return new if found is None else DOTS.join(found.groups())
