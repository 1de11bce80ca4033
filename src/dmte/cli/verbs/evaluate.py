"""``dmte evaluate``: how good a method is on a network, by hidden links or by labels."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, no_type_check

import typer

from dmte.cli.network_options import JsonOption, NetworkSource, with_network
from dmte.cli.options import QuietOption, with_flags
from dmte.cli.output import complete
from dmte.cli.progress import DryRunOption, WorkersOption, run_with_progress, show_plan
from dmte.cli.score_tables import leaks, side_by_side, table
from dmte.cli.settings_options import unread_features
from dmte.errors import ConfigError
from dmte.settings import LABEL_FRACTIONS, NUM_SEEDS, Protocol

if TYPE_CHECKING:
    from dmte.evaluation.jobs import Job
    from dmte.evaluation.methods import Task
    from dmte.network import TextualNetwork

ALL = "all"

evaluate = typer.Typer(
    help="Measure methods on a network, by hidden links or by labels.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)


def _methods() -> Iterable[str]:
    from dmte.evaluation import METHODS

    return METHODS


MethodsOption = Annotated[
    str,
    typer.Option(
        help="Names with commas between them; 'all' for every one that can run.",
        autocompletion=complete(lambda: [*_methods(), ALL]),
    ),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(
        help="What DMTE learns from in place of words: .npy or .npz, or a sentence encoder's "
        "folder. Other methods go on reading texts."
    ),
]
SeedsOption = Annotated[int, typer.Option(help="How many seeds: 0, 1, ...")]


@evaluate.callback()
@no_type_check  # typer asks for its own Context and hands over that of click
def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@evaluate.command("links")
@with_flags
@with_network
def evaluate_links(
    source: NetworkSource,
    methods: MethodsOption = "dmte,tfidf,adamic-adar",
    train_fraction: Annotated[
        str, typer.Option(help="Shares of the edges to learn from, with commas between them.")
    ] = "0.5",
    seeds: SeedsOption = NUM_SEEDS,
    protocol: Annotated[
        Protocol, typer.Option(help="Way of hiding edges; published is that of the papers' tables.")
    ] = "strict",
    features: FeaturesOption = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Hide a share of the links, learn from the rest, and rank the hidden ones above others."""
    from dmte.evaluation.dry_run import plan
    from dmte.evaluation.jobs import link_jobs
    from dmte.evaluation.summary import link_results
    from dmte.metrics import LINK_METRICS

    fractions = numbers("--train-fraction", train_fraction)
    chosen, has_features = able(names(methods), "links", features), features is not None
    jobs = link_jobs("", chosen, fractions, [protocol], seeds, from_features=has_features)
    network = source.open(features=features, quiet=quiet)
    for job in link_jobs("", [jobs[0].method], fractions, [protocol], 1):
        job.check(network)  # Better now than after the first hour.
    if dry_run:
        show_plan({repr(network): plan(jobs)}, as_json)
        return
    rows = link_results(_run(jobs, network, methods, workers, quiet=quiet))
    if as_json:
        _dump(network, jobs, rows, protocol=protocol)
        return
    print(f"{network!r}, {protocol} protocol, {_which(seeds)}{_readers(jobs, features)}")
    if len(fractions) > 1:
        beside = side_by_side(rows, "auc", fractions)
        print(f"\nAUC by the share trained on\n\n{beside}")
    for fraction in fractions:
        asked = [row for row in rows if row["train_fraction"] == fraction]
        print(f"\n{100 * fraction:g} % trained on{leaks(asked)}\n")
        print(table(asked, LINK_METRICS))


@evaluate.command("classes")
@with_flags
@with_network
def evaluate_classes(
    source: NetworkSource,
    methods: MethodsOption = "dmte,tfidf",
    label_fraction: Annotated[
        str, typer.Option(help="Shares of the labelled vertices to learn from.")
    ] = ",".join(f"{share:g}" for share in LABEL_FRACTIONS),
    seeds: SeedsOption = NUM_SEEDS,
    features: FeaturesOption = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn vectors from all links and predict labels from them with a linear SVM."""
    from dmte.evaluation.dry_run import plan
    from dmte.evaluation.jobs import class_jobs
    from dmte.evaluation.summary import class_results
    from dmte.metrics import CLASS_METRICS

    fractions = numbers("--label-fraction", label_fraction)
    chosen, has_features = able(names(methods), "classes", features), features is not None
    jobs = class_jobs("", chosen, fractions, seeds, from_features=has_features)
    network = source.open(features=features, quiet=quiet)
    for job in class_jobs("", [jobs[0].method], fractions, 1):
        job.check(network)
    if dry_run:
        show_plan({repr(network): plan(jobs)}, as_json)
        return
    rows = class_results(_run(jobs, network, methods, workers, quiet=quiet))
    if as_json:
        _dump(network, jobs, rows)
        return
    print(f"{network!r}, {_which(seeds)}{_readers(jobs, features)}")
    if len(fractions) > 1:
        beside = side_by_side(rows, "macro_f1", fractions)
        print(f"\nMacro-F1 by the share of the labelled vertices trained on\n\n{beside}")
    for fraction in fractions:
        print(f"\n{100 * fraction:g} % of the labelled vertices trained on\n")
        print(table([row for row in rows if row["label_fraction"] == fraction], CLASS_METRICS))


def _run(
    jobs: "Sequence[Job]",
    network: "TextualNetwork",
    methods: str,
    workers: int | None,
    *,
    quiet: bool,
) -> "Iterator[tuple[Job, dict[str, Any]]]":
    """Yield the results; of ``all`` methods those that cannot learn from the network are left out.

    Raises:
        DmteError: A method that was named cannot.
    """
    from dmte.evaluation.parallel import handing_over

    may_refuse = ALL in names(methods)
    read = handing_over(network)
    return run_with_progress(jobs, read, workers, quiet=quiet, may_refuse=may_refuse)


def able(methods: list[str], task: "Task", features: Path | None = None) -> list[str]:
    """Return the methods, having said on stderr which of ``all`` cannot run here, and why.

    Raises:
        ConfigError: None was named, or one that cannot run here or is not for the task, or none
            reads the features.
    """
    from dmte.embedding.method import unavailable_reason
    from dmte.evaluation.methods import choose_methods, find_method, left_out, reads_features

    choose_methods(methods, task=task)
    has_features = features is not None
    if has_features and not any(method == ALL or reads_features(method) for method in methods):
        raise unread_features(f"--methods {','.join(methods)}")
    for method, reason in left_out(methods, task=task, from_features=has_features).items():
        print(f"{method}: left out, {reason}", file=sys.stderr)
    for method in methods:
        why = None if method == ALL else unavailable_reason(find_method(method))
        if why is not None:
            raise ConfigError(f"{method} cannot run here: {why}")
    return methods


def _readers(jobs: "Sequence[Job]", features: Path | None) -> str:
    """Return which methods learned from the features, if there are any."""
    readers = dict.fromkeys(job.method for job in jobs if job.settings)
    return "" if features is None else f"\n{', '.join(readers)} learned from {features}"


def _which(seeds: int) -> str:
    return "seed 0" if seeds == 1 else f"seeds 0 to {seeds - 1}"


def names(text: str) -> list[str]:
    """Return the names in ``text``, which has commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(option: str, text: str) -> list[float]:
    """Return the different numbers in ``text``, which has commas between them.

    Raises:
        ConfigError: One is no number.
    """
    try:
        return list(dict.fromkeys(float(number) for number in names(text)))
    except ValueError as problem:
        raise ConfigError(
            f"{option} takes numbers with commas between them, as in 0.15,0.55, not {text!r}"
        ) from problem


def _dump(
    network: "TextualNetwork", jobs: "Sequence[Job]", rows: list[dict[str, Any]], **more: Any
) -> None:
    from dmte.evaluation.summary import provenance

    about = {
        "vertices": network.num_vertices,
        "edges": len(network.edges),
        "directed": network.directed,
        "fingerprint": network.fingerprint(),
    }
    report = {"network": about} | more | {"results": rows} | provenance(jobs)
    json.dump(report, sys.stdout, indent=2)
    print()
