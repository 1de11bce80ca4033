"""``dmte evaluate``: link prediction and classification of methods on a network."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmte.cli.network_options import NetworkSource, with_network
from dmte.cli.options import JsonOption, QuietOption, complete, names_in, verb_group, with_flags
from dmte.cli.output import network_facts, print_json
from dmte.cli.progress import DryRunOption, WorkersOption, run_with_progress, show_plan
from dmte.cli.score_tables import hidden_edges, side_by_side, table
from dmte.cli.settings_options import unread_features
from dmte.errors import ConfigError, TrainingError
from dmte.settings import LABEL_FRACTIONS, NUM_SEEDS, Protocol

if TYPE_CHECKING:
    from dmte.evaluation.jobs import Job
    from dmte.evaluation.methods import Task
    from dmte.network import TextualNetwork

ALL = "all"

evaluate = verb_group("Evaluate methods on a network by link prediction or classification.")


def _methods() -> Iterable[str]:
    from dmte.evaluation import METHODS

    return METHODS


MethodsOption = Annotated[
    str,
    typer.Option(
        help="Methods, separated by commas; 'all' for every method that can run.",
        autocompletion=complete(lambda: [*_methods(), ALL]),
    ),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(
        help="Features for DMTE instead of words: .npy, .npz, or a sentence encoder's folder. "
        "Other methods still read texts."
    ),
]
SeedsOption = Annotated[int, typer.Option(help="Number of seeds: 0, 1, ...")]


@evaluate.command("links")
@with_flags
@with_network
def evaluate_links(
    source: NetworkSource,
    methods: MethodsOption = "dmte,tfidf,adamic-adar",
    train_fraction: Annotated[
        str, typer.Option(help="Fractions of the edges to train on, separated by commas.")
    ] = "0.5",
    seeds: SeedsOption = NUM_SEEDS,
    protocol: Annotated[
        Protocol,
        typer.Option(help="How to hide edges; published is that of the papers' tables."),
    ] = "strict",
    features: FeaturesOption = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Hide links, train on the rest, and rank the hidden links above unlinked pairs."""
    from dmte.evaluation.dry_run import plan
    from dmte.evaluation.jobs import link_jobs
    from dmte.evaluation.summary import link_results, provenance
    from dmte.metrics import LINK_METRICS

    fractions = numbers("--train-fraction", train_fraction)
    chosen = check_methods(names_in(methods), "links", features)
    jobs = link_jobs("", chosen, fractions, [protocol], seeds, from_features=features is not None)
    network = source.open(features=features, quiet=quiet)
    for job in link_jobs("", [jobs[0].method], fractions, [protocol], 1):
        job.check(network)  # Before the first fit, which may take hours.
    if dry_run:
        show_plan({repr(network): plan(jobs)}, as_json)
        return
    rows = link_results(_run(jobs, network, methods, workers, quiet=quiet))
    if as_json:
        facts = {"network": network_facts(network), "protocol": protocol, "results": rows}
        print_json(facts | provenance(jobs))
        return
    print(f"{network!r}, {protocol} protocol, {_which(seeds)}{_readers(jobs, features)}")
    if len(fractions) > 1:
        beside = side_by_side(rows, "auc", fractions)
        print(f"\nAUC by training fraction\n\n{beside}")
    for fraction in fractions:
        shown = [row for row in rows if row["train_fraction"] == fraction]
        print(f"\n{100 * fraction:g} % trained on{hidden_edges(shown)}\n")
        print(table(shown, LINK_METRICS))


@evaluate.command("classes")
@with_flags
@with_network
def evaluate_classes(
    source: NetworkSource,
    methods: MethodsOption = "dmte,tfidf",
    label_fraction: Annotated[
        str,
        typer.Option(help="Fractions of labelled vertices to train on, separated by commas."),
    ] = ",".join(f"{share:g}" for share in LABEL_FRACTIONS),
    seeds: SeedsOption = NUM_SEEDS,
    features: FeaturesOption = None,
    workers: WorkersOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn vectors from all links, and predict labels from them with a linear SVM."""
    from dmte.evaluation.dry_run import plan
    from dmte.evaluation.jobs import class_jobs
    from dmte.evaluation.summary import class_results, provenance
    from dmte.metrics import CLASS_METRICS

    fractions = numbers("--label-fraction", label_fraction)
    chosen = check_methods(names_in(methods), "classes", features)
    jobs = class_jobs("", chosen, fractions, seeds, from_features=features is not None)
    network = source.open(features=features, quiet=quiet)
    for job in class_jobs("", [jobs[0].method], fractions, 1):
        job.check(network)
    if dry_run:
        show_plan({repr(network): plan(jobs)}, as_json)
        return
    rows = class_results(_run(jobs, network, methods, workers, quiet=quiet))
    if as_json:
        print_json({"network": network_facts(network), "results": rows} | provenance(jobs))
        return
    print(f"{network!r}, {_which(seeds)}{_readers(jobs, features)}")
    if len(fractions) > 1:
        beside = side_by_side(rows, "macro_f1", fractions)
        print(f"\nMacro-F1 by fraction of labelled vertices\n\n{beside}")
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
) -> "list[tuple[Job, dict[str, Any]]]":
    """Return the results; ``all`` skips methods that cannot learn from the network.

    Raises:
        DmteError: A named method cannot learn from the network.
        TrainingError: No fit is finished.
    """
    from dmte.evaluation.parallel import handing_over

    skip_unable = ALL in names_in(methods)
    read = handing_over(network)
    found = list(
        run_with_progress(jobs, network, read, workers, quiet=quiet, skip_unable=skip_unable)
    )
    if not found:
        raise TrainingError("no method could be fitted; the lines above state the reasons")
    return found


def check_methods(methods: list[str], task: "Task", features: Path | None = None) -> list[str]:
    """Check the methods; report on stderr those of ``all`` that cannot run here.

    Raises:
        ConfigError: No method is named, a named one cannot run here or does not fit the task, or
            none reads the features.
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
    """The methods that learned from the features, if there are any."""
    readers = dict.fromkeys(job.method for job in jobs if job.settings)
    return "" if features is None else f"\n{', '.join(readers)} learned from {features}"


def _which(seeds: int) -> str:
    return "seed 0" if seeds == 1 else f"seeds 0 to {seeds - 1}"


def numbers(option: str, text: str) -> list[float]:
    """Distinct numbers separated by commas.

    Raises:
        ConfigError: A part is not a number.
    """
    try:
        return list(dict.fromkeys(float(number) for number in names_in(text)))
    except ValueError as problem:
        raise ConfigError(
            f"{option} must be numbers separated by commas, such as 0.15,0.55, not {text!r}"
        ) from problem
