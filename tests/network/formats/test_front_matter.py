"""Front matter: YAML as it is written by hand, and files that would crash or stall a reader."""

import time
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dmte.network.formats.front_matter import FrontMatter, split_front_matter


@pytest.mark.parametrize(
    ("block", "name", "expected"),
    [
        ("tags: [a,\n  b,\n  c]", "tags", ("a", "b", "c")),
        ("tags:\n  [\n    'a, b',\n  ]", "tags", ("a, b",)),
        ("tags:\n- a\n\n# between\n- b # why", "tags", ("a", "b")),
        ("title: >-\n  A long\n  title", "title", ("A long title",)),
        ("title: A long\n  title", "title", ("A long title",)),
        ('title: "caf\\u00e9 \\"x\\" \\x41"', "title", ('café "x" A',)),
        ("'title': A", "title", ("A",)),
        ('"tags": [a]', "tags", ("a",)),
        ("kind: &k trees\ntags: [*k, b]", "tags", ("trees", "b")),
        ("other: {list: &l [a, b]}\ntags: *l", "tags", ("a", "b")),
        ("{title: A, tags: [b]}", "tags", ("b",)),
        ("tags: >\n  a, b,\n  c", "tags", ("a", "b", "c")),
        ("tags: 'a, b'", "tags", ("a, b",)),
        ("tags: a, b", "tags", ("a", "b")),
        (
            "tags: [yes, 1.0, 2024-01-02, 0x1F, 010, 1:30]",
            "tags",
            "yes 1.0 2024-01-02 0x1F 010 1:30",
        ),
        ("title: 2024-01-02", "title", ("2024-01-02",)),
        ("title: No", "title", ("No",)),
        ("title: !!python/object:os.system x", "title", ("x",)),
        ("tags: [null, ~, 'null', a: b, [c]]", "tags", ("null",)),
        ("tag: a\ntags: b", "tags", ("a", "b")),
        ("author: {tags: [b]}\ntags: [a]", "tags", ("a",)),
        ("tags: &t [*t, a]", "tags", ("a",)),
    ],
)
def test_every_value_of_front_matter_is_text(
    block: str, name: str, expected: str | tuple[str, ...]
) -> None:
    front, body = split_front_matter(f"---\n{block}\n---\ntext")
    expected = tuple(expected.split()) if isinstance(expected, str) else expected
    assert (front.values[name], front.problem, body) == (expected, "", "text")


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("ok: x\ntitle: A: b", "line 3: mapping values are not allowed in this context"),
        ("tags: [a", "line 3: "),
        ("tags: *gone", "line 2: unknown anchor 'gone'"),
        ("title: a\0b", "line 1: it has characters that YAML does not allow"),
        ("title: \ud800", "line 1: it has characters that YAML does not allow"),
        ("tags: " + "[" * 10**5, "line 2: lists are nested too deeply"),
        ("{a: " * 10**5, "line 2: lists are nested too deeply"),
        ("tags:\n" + "- " * 10**5, "line 3: lists are nested too deeply"),
    ],
)
def test_invalid_yaml_is_ignored_with_an_explanation(block: str, problem: str) -> None:
    front, body = split_front_matter(f"---\n{block}\n---\ntext")
    assert (front.values, body) == ({}, "text")
    assert front.problem.startswith(problem)


@given(st.text(alphabet=st.sampled_from("aA:- \n[]{},'\"&*!|>%@#?\\xU0\0é\ud800"), max_size=40))
@settings(deadline=None)
@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_any_front_matter_is_read_or_explained(loader: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmte.network.formats.front_matter.LOADER", getattr(yaml, loader))
        front, _ = split_front_matter(f"---\n{text}\n---\n")
    assert not (front.values and front.problem)


def test_aliases_of_aliases_take_no_memory() -> None:
    names = "abcdefghijklmnopqrst"
    lists = [f"{n}: &{n} [{', '.join([f'*{m}'] * 9)}]" for m, n in pairwise(names)]
    block = "\n".join(["a: &a [x]", *lists, "tags: *t", "title: laughs"])
    assert split_front_matter(f"---\n{block}\n---\n")[0].values == {
        "tags": (),
        "title": ("laughs",),
    }


@pytest.mark.medium
@pytest.mark.parametrize("lines", ["tags:\n{}", "tags: [{}]", "tags: {}", "{}"])
@pytest.mark.parametrize("item", ["- a\n", "a, ", "tags: a\n"])
def test_front_matter_takes_time_linear_in_its_length(lines: str, item: str) -> None:
    def seconds(count: int) -> float:
        started = time.thread_time()
        split_front_matter(f"---\n{lines.format(item * count)}\n---\n")
        return time.thread_time() - started

    # The least of three, since one may include a collection of all garbage of the process.
    few, many = (min(seconds(count) for _ in range(3)) for count in (4_000, 32_000))
    assert many < 8 * 4 * few + 0.2  # Quadratic would be 64 times as long.


def test_front_matter_must_be_closed_and_at_the_top() -> None:
    for text in (
        "---\ntags: a\n",
        "\n---\ntags: a\n---\n",
        "---\na paragraph\n---\n",
        "---\n- a\n---\n",
    ):
        assert split_front_matter(text) == (FrontMatter(), text)
    assert split_front_matter("---\n---\nx") == (FrontMatter(), "x")
