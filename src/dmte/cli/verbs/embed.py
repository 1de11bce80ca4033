"""``dmte embed``: vectors for new vertices."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmte.cli.network_options import FeaturesOption, NetworkSource, with_network
from dmte.cli.options import CsvOption, ForceOption, JsonOption, ModelArgument
from dmte.cli.output import (
    NEIGHBOR_COLUMNS,
    check_one_format,
    describe_neighbors,
    print_csv,
    print_json,
    print_neighbors,
    shorten,
    terminal_width,
)
from dmte.embedding.export_formats import SUFFIXES
from dmte.errors import ConfigError

if TYPE_CHECKING:
    from dmte.embedding.embedding import Embedding
    from dmte.model.trained_model import TrainedModel
    from dmte.network import TextualNetwork


@partial(with_network, metavar="NEW", has_directed=False)
def embed(
    model: ModelArgument,
    source: NetworkSource,
    out: Annotated[
        Path | None,
        typer.Option(help=f"File for the vectors: {', '.join(SUFFIXES)} (word2vec)."),
    ] = None,
    similar: Annotated[
        int | None,
        typer.Option(metavar="K", help="Show the K closest vertices of the model for each."),
    ] = None,
    skip_known: Annotated[
        bool,
        typer.Option("--skip-known", help="Skip vertices that the model already has."),
    ] = False,
    features: FeaturesOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Compute vectors for the vertices of NEW from their texts, edges, or both.

    Edges of NEW may lead to vertices of the model. The model does not change.
    """
    check_one_format(as_json=as_json, as_csv=as_csv)
    kind = _check_outputs(out, similar, prints=as_json or as_csv)
    from dmte.embedding.export import export_vectors
    from dmte.model.trained_model import TrainedModel
    from dmte.text.feature_files import read_features

    trained = TrainedModel.load(model)
    new = _open(source, trained.network)
    if features is not None:
        new = read_features(features, new, known=set(trained.network.ids))
    embedding = trained.embed(new, skip_known=skip_known)
    neighbors = None if similar is None else _neighbors(trained, new, embedding, similar)
    file = None
    if out is not None and kind is not None:
        file = export_vectors(embedding, out, kind, replace=force)
    if as_json:
        print_json(_as_object(embedding, neighbors, file))
    elif as_csv:
        _print_csv(embedding, neighbors)
    else:
        for name, rows in (neighbors or {}).items():
            _print_found(name, new.texts[new.position(name)], rows)
        if file is not None:
            print(file)


def _open(source: NetworkSource, known: "TextualNetwork") -> "TextualNetwork":
    """Read the new network, directed like the known one, into which its edges may lead."""
    source = replace(source, directed=known.directed, known=known.ids)
    if source.network is not None and source.edges is not None and source.vertices is None:
        source = replace(source, network=None, vertices=Path(source.network))
    return source.open()


def _check_outputs(out: Path | None, similar: int | None, *, prints: bool) -> str | None:
    """Format of the file to write.

    Raises:
        ConfigError: No output is requested, or the suffix is unknown.
    """
    if out is None and similar is None and not prints:
        raise ConfigError(
            "write the vectors with --out FILE, print them with --json or --csv, or show the "
            "closest vertices with --similar K"
        )
    if similar is not None and similar < 1:
        raise ConfigError(f"--similar must be at least 1, not {similar}")
    kind = None if out is None else SUFFIXES.get(out.suffix.lower())
    if out is not None and kind is None:
        endings = ", ".join(f"{suffix} ({kind})" for suffix, kind in SUFFIXES.items())
        raise ConfigError(f"{out} must end in one of {endings}")
    return kind


def _neighbors(
    trained: "TrainedModel", new: "TextualNetwork", embedding: "Embedding", k: int
) -> dict[str, list[dict[str, Any]]]:
    """The closest vertices of the model for each new one; none for a zero vector.

    Vertices that share an edge with the new one are marked.
    """
    import torch

    found = {}
    for name, vector in zip(embedding.ids, embedding.vectors, strict=True):
        closest = trained.embedding.closest(vector, k) if bool(vector.any()) else []
        touching = new.edges[(new.edges == new.position(name)).any(dim=1)]
        linked = {new.ids[position] for position in torch.unique(touching).tolist()}
        rows = describe_neighbors(trained.network, None, closest)
        found[name] = [row | {"linked": row["id"] in linked} for row in rows]
    return found


def _as_object(
    embedding: "Embedding", neighbors: dict[str, list[dict[str, Any]]] | None, file: Path | None
) -> dict[str, Any]:
    """The object of --json: the vectors, unless they are in a file, and the neighbors."""
    vertices: list[dict[str, Any]] = []
    for name, vector in zip(embedding.ids, embedding.vectors, strict=True):
        vectors = {"vector": vector.tolist()} if file is None else {}
        others = {} if neighbors is None else {"neighbors": neighbors[name]}
        vertices.append({"id": name} | vectors | others)
    return {
        "dim": embedding.vectors.shape[1],
        "text_dim": embedding.text_dim,
        "file": None if file is None else str(file),
        "vertices": vertices,
    }


def _print_csv(embedding: "Embedding", neighbors: dict[str, list[dict[str, Any]]] | None) -> None:
    """Print the neighbors with --similar, and the vectors otherwise."""
    if neighbors is not None:
        rows = [{"new": name} | row for name, found in neighbors.items() for row in found]
        print_csv(rows, ("new", *NEIGHBOR_COLUMNS))
        return
    columns = [f"v{column}" for column in range(embedding.vectors.shape[1])]
    vectors = zip(embedding.ids, embedding.vectors.tolist(), strict=True)
    named = [{"id": name} | dict(zip(columns, vector, strict=True)) for name, vector in vectors]
    print_csv(named, ("id", *columns))


def _print_found(name: str, text: str, rows: list[dict[str, Any]]) -> None:
    heading = f"{name}: {text}" if text else name
    if rows:
        print_neighbors(heading, rows)
    else:
        print(f"{shorten(heading, terminal_width())}\n     no neighbors: no known word and no edge")
    print()
