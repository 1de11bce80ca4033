"""``dmte explain``: the score of two vertices in parts that add up."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmte.cli.options import JsonOption, ModelArgument
from dmte.cli.output import print_json, shorten, terminal_width
from dmte.errors import ConfigError
from dmte.runtime.formatting import one_line

if TYPE_CHECKING:
    from dmte.inference.explain import Explanation
    from dmte.inference.score_parts import VertexPart, WordPart
    from dmte.model.trained_model import TrainedModel

DIGITS = 6
MAX_CONNECTIONS = 3  # In the table.


def explain(
    model: ModelArgument,
    a: Annotated[str, typer.Argument(metavar="A", help="Id of a vertex.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Id of another vertex.")],
    k: Annotated[int, typer.Option("-k", help="Number of words and of vertices to show.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Explain the score of A and B by halves, hops, words, and vertices.

    The parts of each kind add up to the score.
    """
    if k < 1:
        raise ConfigError(f"k must be at least 1, not {k}")
    from dmte.inference.explain import explain as explain_score
    from dmte.model.trained_model import TrainedModel

    trained = TrainedModel.load(model)
    found = explain_score(trained, a, b)
    if as_json:
        print_json(_as_json(found, k))
    else:
        print("\n".join(line.rstrip() for line in _lines(found, trained, k)))


def _as_json(found: "Explanation", k: int) -> dict[str, Any]:
    return {
        "a": found.a,
        "b": found.b,
        "score": _rounded(found.score),
        "linked": found.is_linked,
        "halves": {"text": _rounded(found.text), "structure": _rounded(found.structure)},
        "hops": [
            {"hop": hop, "contribution": _rounded(value), "share": _share(value, found)}
            for hop, value in enumerate(found.hops.tolist())
        ],
        "hop_pairs": [[_rounded(value) for value in row] for row in found.hop_pairs.tolist()],
        "words": None if found.words is None else _part_rows(found.words[:k], found),
        "other_words": None if found.words is None else _others(found.words[k:]),
        "pairs": None if found.pairs is None else [_row(pair) for pair in found.pairs[:k]],
        "vertices": _part_rows(found.vertices[:k], found),
        "other_vertices": _others(found.vertices[k:]),
        "common_neighbors": list(found.common_neighbors),
        "connections": [_row(connection) for connection in found.connections[:k]],
    }


def _part_rows(
    parts: "Sequence[WordPart | VertexPart]", found: "Explanation"
) -> list[dict[str, Any]]:
    return [_row(part) | {"share": _share(part.contribution, found)} for part in parts]


def _row(part: Any) -> dict[str, Any]:
    return {
        name: _rounded(value) if isinstance(value, float) else value
        for name, value in part._asdict().items()
    }


def _others(parts: "Sequence[WordPart | VertexPart]") -> dict[str, Any]:
    return {"count": len(parts), "contribution": _rounded(sum(part.contribution for part in parts))}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _share(value: float, found: "Explanation") -> float | None:
    """Share of the score; None if the score is not positive, when a share would mislead."""
    return round(value / found.score, 4) if found.score > 0 else None


def _lines(found: "Explanation", trained: "TrainedModel", k: int) -> Iterator[str]:
    width, network = terminal_width(), trained.network
    names = min(max(len(found.a), len(found.b)), width // 3)
    for letter, name in (("A", found.a), ("B", found.b)):
        start = f"{letter}  {shorten(name, names):<{names}}  "
        yield start + shorten(network.texts[network.position(name)], width - len(start))
    yield f"score {found.score:.3f}, {'linked' if found.is_linked else 'not linked'}"
    yield from _half_lines(found, is_learned=trained.settings.structure)
    yield from _word_lines(found, trained, k)
    yield from _vertex_lines(found, k, width // 2)
    yield from _connection_lines(found, k, width, directed=network.directed)


def _half_lines(found: "Explanation", *, is_learned: bool) -> Iterator[str]:
    yield "\nhalves"
    yield _line(found.text, found, "text")
    if found.structure is not None:
        what = "a learned vector per vertex" if is_learned else "random walks along links"
        yield _line(found.structure, found, f"structure, {what}")
    yield "\nhops of the text half"
    for hop, value in enumerate(found.hops.tolist()):
        away = f"texts {hop} step{'s' * (hop > 1)} away" if hop else "own texts"
        yield _line(value, found, away)


def _word_lines(found: "Explanation", trained: "TrainedModel", k: int) -> Iterator[str]:
    if found.words is None or found.pairs is None:
        encoder = trained.settings.encoder
        yield f"\nno words: for the encoder {encoder}, a text is not the sum of its words"
        return
    names = max((len(part.word) for part in found.words[:k]), default=0)
    yield _heading("words", f"{'':<{names}}  A     B")
    for part in found.words[:k]:
        where = f"{part.in_a or '-':<4}  {part.in_b or '-'}"
        yield _line(part.contribution, found, f"{part.word:<{names}}  {where}")
    yield from _rest(found.words[k:], found, "word", "words")
    related = [pair for pair in found.pairs if pair.a != pair.b][:k]
    if related:
        yield "\nrelated words, one of A and one of B"
    for pair in related:
        yield _line(pair.contribution, found, f"{pair.a} — {pair.b}")


def _vertex_lines(found: "Explanation", k: int, widest: int) -> Iterator[str]:
    names = min(max(len(part.id) for part in found.vertices[:k]), widest)
    yield _heading("texts by vertex", f"{'':<{names}}  steps to A, B")
    for part in found.vertices[:k]:
        steps = ["-" if one is None else one for one in (part.steps_a, part.steps_b)]
        name = f"{shorten(part.id, names):<{names}}"
        yield _line(part.contribution, found, f"{name}  {steps[0]}, {steps[1]}")
    yield from _rest(found.vertices[k:], found, "vertex", "vertices")


def _connection_lines(found: "Explanation", k: int, width: int, *, directed: bool) -> Iterator[str]:
    yield "\nconnections"
    shared = found.common_neighbors
    more = f" and {len(shared) - k:,} more" if len(shared) > k else ""
    yield f"  common neighbors: {', '.join(map(one_line, shared[:k])) or 'none'}{more}"
    for connection in found.connections[:MAX_CONNECTIONS]:
        at = connection.vertices.index(connection.meets_at)
        line = connection.vertices[0]
        for step, name in enumerate(connection.vertices[1:]):
            line += f" {'–' if not directed else '→' if step < at else '←'} {name}"
        yield f"  {shorten(line, width - 2)}"
    if not found.connections:
        yield "  no path connects A and B"


def _rest(
    parts: "Sequence[WordPart | VertexPart]", found: "Explanation", one: str, many: str
) -> Iterator[str]:
    if parts:
        total = sum(part.contribution for part in parts)
        yield _line(total, found, f"({len(parts):,} other {one if len(parts) == 1 else many})")


def _heading(what: str, columns: str) -> str:
    return f"\n{what:<21}{columns}"


def _line(value: float, found: "Explanation", what: str) -> str:
    share = _share(value, found)
    percent = "" if share is None else f"{100 * share:.1f} %"
    return f"  {value:7.4f}  {percent:>8}  {what}"
