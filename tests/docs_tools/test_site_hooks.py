"""Links of the documentation's pages, rewritten for the site."""

from pathlib import Path

import pytest

from fence_examples import fence_examples
from site_hooks import MAX_LINES, REPOSITORY_PAGES, rewrite_links, shown_page, site_path

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("link", "place", "rewritten"),
    [
        ("docs/quick-start.md", "index.md", "quick-start.md"),
        ("docs/README.md#verbs", "index.md", "contents.md#verbs"),
        ("../README.md", "verbs/info.md", "../contents.md"),
        ("../../README.md", "verbs/info.md", "../index.md"),
        ("embed.md", "verbs/info.md", "embed.md"),
        ("#options", "verbs/info.md", "#options"),
        ("schemas/info.json", "command-line.md", "schemas/info.json"),
        ("schemas", "command-line.md", "source/docs/schemas.md"),
        ("../src/dmte/errors.py", "method.md", "source/src/dmte/errors.py.md"),
        ("../experiments/results/hops/figure.png", "method.md",
         "source/experiments/results/hops/figure.png"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_place_on_the_site(link: str, place: str, rewritten: str) -> None:
    assert rewrite_links(f"[words]({link})", place) == f"[words]({rewritten})"


def test_code_and_web_addresses_are_left_alone() -> None:
    page = "`[a](b.md)` [x](https://example.org/a.md)\n```md\n[a](../README.md)\n```\n"
    assert rewrite_links(page, "verbs/info.md") == page


def test_a_page_shows_a_file_or_lists_a_folder() -> None:
    assert "class DmteError(" in shown_page("src/dmte/errors.py")
    assert "[info.json](../../schemas/info.json)" in shown_page("docs/schemas")


def test_only_the_beginning_of_a_long_file_is_shown() -> None:
    page = shown_page("experiments/results/cora-links/results.json")
    assert f"The first {MAX_LINES} of " in page
    assert len(page.splitlines()) < MAX_LINES + 20


@pytest.mark.parametrize("path", REPOSITORY_PAGES)
def test_pages_from_outside_the_folder_exist(path: str) -> None:
    assert (ROOT / path).is_file()
    assert site_path(path) == REPOSITORY_PAGES[path]


def test_an_example_is_fenced_up_to_the_next_blank_line() -> None:
    fenced = fence_examples("One.\n\n>>> for i in [1]:\n...     i\n1\n\nTwo.\n\n>>> 2\n2")
    assert fenced == (
        "One.\n\n```pycon\n>>> for i in [1]:\n...     i\n1\n```\n\nTwo.\n\n```pycon\n>>> 2\n2\n```"
    )
