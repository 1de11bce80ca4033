"""``dmte demo``: train, evaluate and plot on the bundled network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmte.cli.options import JsonOption, QuietOption, SeedOption
from dmte.cli.output import describe_neighbors, print_json, print_neighbors
from dmte.errors import MissingExtraError
from dmte.storage.folder import check_writable

if TYPE_CHECKING:
    from dmte.evaluation import LinkTask
    from dmte.model.trained_model import TrainedModel
    from dmte.network import TextualNetwork

HIDDEN_FRACTION = 0.2
QUERIES = ("b-tree", "gradient-descent", "random-walk")
TITLES = {
    "dmte": "DMTE, text and links",
    "tfidf": "word overlap alone (TF-IDF)",
    "adamic-adar": "links alone (Adamic-Adar)",
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and the map.")] = Path("demo"),
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train on the bundled network: predict hidden links, find neighbors, draw a map."""
    from dmte.evaluation import find_method, strict_task
    from dmte.network import read_network

    model, picture = out / "model", out / "map.png"
    check_writable(model)
    network = read_network("concepts")
    task = strict_task(network, 1 - HIDDEN_FRACTION, seed)
    scores = {"dmte": task.auc(_train(task.train, seed, quiet=quiet).embedding)}
    scores |= {
        name: task.auc(find_method(name).fit(task.train, seed)) for name in ("tfidf", "adamic-adar")
    }
    trained = _train(network, seed, quiet=quiet)
    out.mkdir(parents=True, exist_ok=True)
    trained.save(model)
    drawn = _try_to_draw(network, trained, picture, seed)
    neighbors = {
        query: describe_neighbors(network, query, trained.embedding.most_similar(query, 5))
        for query in QUERIES
    }
    if as_json:
        result = {"auc": scores, "hidden_edges": len(task.edges), "neighbors": neighbors}
        print_json(result | {"model": str(model), "map": str(picture) if drawn is None else None})
        return
    _print_scores(network, task, scores, seed)
    for query, rows in neighbors.items():
        print_neighbors(f"Query: {network.texts[network.position(query)]}", rows)
        print()
    print(f"map    {drawn or picture}\nmodel  {model}\n")
    print(f'next   dmte similar {model} --text "how do databases find rows quickly"')


def _train(network: "TextualNetwork", seed: int, *, quiet: bool) -> "TrainedModel":
    from dmte.cli.train_job import progress
    from dmte.settings import Settings
    from dmte.training.run import TrainingRun

    run = TrainingRun(network, Settings(), seed)
    with progress(run.settings.epochs, quiet=quiet) as show:
        for report in run.epochs():
            show(report)
    return run.result()


def _try_to_draw(
    network: "TextualNetwork", trained: "TrainedModel", picture: Path, seed: int
) -> str | None:
    """Draw the map; return the error if matplotlib is missing."""
    from dmte.plotting.map import Map

    try:
        Map(seed=seed).draw(network, trained.embedding, picture, replace=True)
    except MissingExtraError as problem:
        return str(problem)
    return None


def _print_scores(
    network: "TextualNetwork", task: "LinkTask", scores: dict[str, Any], seed: int
) -> None:
    hidden = len(task.edges)
    print(f"concepts  {network.num_vertices} entries, {len(network.edges):,} links, seed {seed}")
    print(f"{hidden} links hidden and predicted from the rest; AUC against unlinked pairs\n")
    for name, score in scores.items():
        print(f"  {TITLES[name]:<30}{100 * score:5.1f}")
    print()
