"""The model: V_t, V_s and U_s against their formulas, and the versions of the paper."""

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.linalg import matrix_power, vector_norm

from dmte.diffusion.operators import DiffusionConvolution
from dmte.diffusion.transition import transition_matrix
from dmte.kernels.sparse import SparseMatrix
from dmte.model.diffusion_maps import DiffusionMaps, Halves, StructureEmbedding
from dmte.text import Vocabulary, WordAverage

TEXTS = ["graph text", "text", "a graph of words", "", "words and words"]
VOCABULARY = Vocabulary.of(TEXTS)
NUM_VERTICES = len(TEXTS)
DIM = 4
TEXT_HOPS = (1.0, 0.5, 0.25)
STRUCTURE_HOPS = (0.9, 0.4)
DENSE = torch.tensor(
    [
        [0.0, 0.5, 0.5, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [0.25, 0.0, 0.0, 0.75, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ],
    dtype=torch.float64,
)


def make(*, convolution: bool = True, structure: bool = True) -> DiffusionMaps:
    """Return a model in double precision, the same parameters whatever it is made of."""
    words, filters, table = (torch.Generator().manual_seed(seed) for seed in range(3))
    model = DiffusionMaps(
        WordAverage(len(VOCABULARY), DIM, words),
        DiffusionConvolution(DIM, TEXT_HOPS, filters) if convolution else None,
        StructureEmbedding(NUM_VERTICES, DIM, STRUCTURE_HOPS, table) if structure else None,
    )
    return model.double()


@pytest.fixture
def transition() -> SparseMatrix:
    return transition_matrix(sp.csr_array(DENSE.numpy()), torch.float64)


def halves_of(model: DiffusionMaps, transition: SparseMatrix) -> Halves:
    halves: Halves = model(model.encoder.prepare(VOCABULARY.encode(TEXTS)), transition)
    return halves


def text_features(model: DiffusionMaps) -> Tensor:
    features: Tensor = model.encoder(model.encoder.prepare(VOCABULARY.encode(TEXTS)))
    return features


def structure_of(table: Tensor) -> Tensor:
    """Return V_s of this E_s."""
    rows, columns = table.shape
    structure = StructureEmbedding(rows, columns, (1.0,), torch.Generator()).double()
    with torch.no_grad():
        structure.table.copy_(table)
        found: Tensor = structure()
    return found


def test_rows_longer_than_one_are_scaled_to_length_one() -> None:
    table = torch.tensor([[3.0, 4.0], [0.0, -2.0], [1.0, 1.0]], dtype=torch.float64)
    expected = torch.tensor([[0.6, 0.8], [0.0, -1.0], [0.5**0.5, 0.5**0.5]], dtype=torch.float64)
    torch.testing.assert_close(structure_of(table), expected)


def test_rows_of_at_most_length_one_do_not_change() -> None:
    table = torch.tensor([[0.6, 0.0], [0.0, 0.0], [-0.3, 0.4], [1.0, 0.0]], dtype=torch.float64)
    assert torch.equal(structure_of(table), table)


def test_no_row_of_the_structure_embedding_is_longer_than_one(transition: SparseMatrix) -> None:
    model = make()
    assert model.structure is not None
    with torch.no_grad():
        model.structure.table.mul_(torch.tensor([[0.01], [0.1], [1.0], [10.0], [1e6]]))
    structure = halves_of(model, transition).structure
    assert structure is not None
    lengths = vector_norm(structure, dim=1)
    assert bool((lengths <= 1 + 1e-12).all())
    assert float(lengths[0].detach()) < 0.1


def test_a_zero_row_has_a_finite_gradient() -> None:
    structure = StructureEmbedding(2, 3, (1.0,), torch.Generator())
    with torch.no_grad():
        structure.table.zero_()
    structure().sum().backward()
    assert structure.table.grad is not None
    assert torch.equal(structure.table.grad, torch.ones(2, 3))


def test_the_diffusion_map_equals_the_dense_formula(transition: SparseMatrix) -> None:
    model = make()
    assert model.structure is not None
    with torch.no_grad():
        model.structure.table.mul_(5.0)  # So that V_s is not the table itself.
    halves = halves_of(model, transition)
    assert halves.structure is not None
    assert halves.diffused_structure is not None
    expected = torch.zeros(NUM_VERTICES, DIM, dtype=torch.float64)
    for hop, weight in enumerate(STRUCTURE_HOPS):
        expected += weight * matrix_power(DENSE, hop) @ halves.structure.detach()
    torch.testing.assert_close(halves.diffused_structure.detach(), expected)


def test_the_text_embedding_equals_the_dense_formula(transition: SparseMatrix) -> None:
    model = make()
    assert model.convolution is not None
    features, filters = text_features(model), model.convolution.filters
    expected = torch.zeros(NUM_VERTICES, DIM, dtype=torch.float64)
    for hop, weight in enumerate(TEXT_HOPS):
        expected = expected + weight * torch.tanh(
            filters[hop] * (matrix_power(DENSE, hop) @ features)
        )
    torch.testing.assert_close(halves_of(model, transition).text, expected)


def test_without_a_convolution_the_text_embedding_is_the_encoded_text(
    transition: SparseMatrix,
) -> None:
    model = make(convolution=False)
    assert torch.equal(halves_of(model, transition).text, text_features(model))


def test_without_a_convolution_the_structure_is_still_diffused(
    transition: SparseMatrix,
) -> None:
    with_it, without = (
        halves_of(make(convolution=convolution), transition) for convolution in (True, False)
    )
    assert with_it.diffused_structure is not None
    assert without.diffused_structure is not None
    assert torch.equal(with_it.diffused_structure, without.diffused_structure)


def test_without_a_structure_half_the_text_half_is_the_same(
    transition: SparseMatrix,
) -> None:
    halves = halves_of(make(structure=False), transition)
    assert halves.structure is None
    assert halves.diffused_structure is None
    assert torch.equal(halves.text, halves_of(make(), transition).text)


def test_the_parameters_are_the_words_the_filters_and_the_structure() -> None:
    assert list(dict(make().named_parameters())) == [
        "encoder.words",
        "convolution.filters",
        "structure.table",
    ]
    assert list(dict(make(convolution=False, structure=False).named_parameters())) == [
        "encoder.words"
    ]


def test_gradients_reach_every_parameter(transition: SparseMatrix) -> None:
    model = make()
    halves = halves_of(model, transition)
    assert halves.diffused_structure is not None
    (halves.text.sum() + halves.diffused_structure.square().sum()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.count_nonzero() > 0, name


@pytest.mark.parametrize(
    ("parameter", "half"),
    [
        ("encoder.words", "text"),
        ("convolution.filters", "text"),
        ("structure.table", "structure"),
        ("structure.table", "diffused_structure"),
    ],
)
def test_each_column_depends_only_on_its_own_column_of_the_parameters(
    transition: SparseMatrix, parameter: str, half: str
) -> None:
    """True of V_s while no row is longer than 1: a length is made of all columns."""
    model = make()
    assert model.structure is not None
    with torch.no_grad():
        model.structure.table.mul_(0.5)
        before: Tensor = getattr(halves_of(model, transition), half)
        dict(model.named_parameters())[parameter][:, 2] += 0.01
        after: Tensor = getattr(halves_of(model, transition), half)
        assert float(vector_norm(model.structure.table, dim=1).max()) < 1
    assert (before != after).any(dim=0).tolist() == [False, False, True, False]


@pytest.mark.parametrize("parameter", ["encoder.words", "convolution.filters", "structure.table"])
def test_each_parameter_changes_only_its_own_half(transition: SparseMatrix, parameter: str) -> None:
    model = make()
    with torch.no_grad():
        before = halves_of(model, transition)
        dict(model.named_parameters())[parameter].add_(0.01)
        after = halves_of(model, transition)
    moved = {
        name
        for name, one, other in zip(Halves._fields, before, after, strict=True)
        if one is not None and other is not None and not torch.equal(one, other)
    }
    is_structure = parameter == "structure.table"
    assert moved == ({"structure", "diffused_structure"} if is_structure else {"text"})
