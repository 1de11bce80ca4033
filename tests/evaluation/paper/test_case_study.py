"""The case study: the papers closest to one paper."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError
from dmte.evaluation.paper.case_study import PRINTED, QUERY, CaseJob
from dmte.evaluation.paper.results import read_results
from dmte.network import TextualNetwork, read_folder, read_network

RESULTS = Path(__file__).parents[3] / "experiments" / "results"


def test_the_case_study_marks_neighbors_and_ranks_the_papers_titles() -> None:
    """Vertex v lies at angle v from the query, so its rank is v; the first two are linked."""
    texts = [QUERY, *PRINTED, "another"]
    edges = torch.tensor([[0, 1], [2, 0], [3, 4], [0, 0]])
    network = TextualNetwork(ids=tuple(map(str, range(7))), texts=texts, edges=edges)

    class Turned(CaseJob):
        def configured_method(self) -> Any:
            angles = 0.1 * torch.arange(7)
            table = torch.stack([angles.cos(), angles.sin()], dim=1)

            class Fixed:
                def fit(self, network: TextualNetwork, seed: int) -> Embedding:
                    assert seed == 0
                    return Embedding(network.ids, table, 2)

            return Fixed()

    result = Turned(network="", method="dmte-paper", seed=0).run(network)
    assert [row["text"] for row in result["closest"]] == list(PRINTED)
    assert [row["rank"] for row in result["printed"]] == [1, 2, 3, 4, 5]
    assert [row["linked"] for row in result["closest"]] == [True, True, False, False, False]


def test_the_titles_are_those_of_the_committed_results() -> None:
    case = read_results(RESULTS)["case-study"].case_study
    assert case is not None
    assert (case.query, tuple(title.text for title in case.printed)) == (QUERY, PRINTED)


def test_the_case_study_needs_its_query() -> None:
    job = CaseJob(network="", method="dmte-paper", seed=0)
    with pytest.raises(ConfigError, match="K-D-B-Tree"):
        job.check(read_network("concepts"))


@pytest.mark.slow
def test_the_case_study_is_in_the_data(data_folder: Path) -> None:
    CaseJob(network="", method="dmte-paper", seed=0).check(read_folder(data_folder / "dblp"))
