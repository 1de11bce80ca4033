"""TF-IDF and its truncated SVD, also known as latent semantic analysis (LSA).

    b_iw = g(n_iw) r_w        r_w = 1 + ln((1 + N) / (1 + N_w))        B ≈ U Σ Vᵀ

n_iw is the number of times word w occurs in text i, and N_w the number of texts that contain w. r_w
is the smoothed IDF of scikit-learn (after Salton and Buckley 1988). The term frequency is g(n) = n,
or g(n) = ln(1 + n) if damped (Dumais 1991). The steep IDF, r_w = ln((1 + N) / N_w), gives words of
nearly every text a weight near zero. Rows of B have length 1; the row of an empty text is zero.

V comes from randomized SVD (Halko et al. 2011). On Cora and DBLP it is as fast as SciPy's exact
solver, with an AUC within 0.3 of it (0.1 after diffusion), and it takes matrices of any rank and
shape.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from dmte.errors import ConfigError
from dmte.runtime.seeding import generator_for
from dmte.text.vocabulary import TokenizedTexts

NUM_POWER_ITERATIONS = 7  # As in scikit-learn for few dimensions; singular values decay slowly.
NUM_SPARE_DIRECTIONS = 10  # Oversampling: computed and dropped, which makes the others accurate.


def idf(texts: TokenizedTexts) -> Float[np.ndarray, " words"]:
    """Return 1 + ln((1 + N) / (1 + N_w)) of every word."""
    weights: np.ndarray = 1 + np.log((1 + len(texts)) / (1 + _document_counts(texts)))
    return weights


def steep_idf(texts: TokenizedTexts) -> Float[np.ndarray, " words"]:
    """Return ln((1 + N) / N_w) of every word, with N_w = 1 for a word in no text."""
    weights: np.ndarray = np.log((1 + len(texts)) / np.maximum(_document_counts(texts), 1))
    return weights


def _document_counts(texts: TokenizedTexts) -> Int[np.ndarray, " words"]:
    """Return N_w."""
    return np.bincount(texts.bag_of_words().indices, minlength=texts.vocabulary_size)


def weigh_words(
    texts: TokenizedTexts, weights: Float[np.ndarray, " words"], *, damped: bool
) -> sp.csr_array:
    """Return B, one row per text and one column per word, with ``weights`` as r_w."""
    weighted = texts.bag_of_words()
    if damped:
        lengths = np.repeat(texts.lengths().numpy(), np.diff(weighted.indptr))
        weighted.data = np.log1p(np.rint(weighted.data * lengths))
    weighted.data *= weights[weighted.indices]
    # The bag of words is divided by |t_i|; normalizing the rows cancels this factor.
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.diags_array(scale) @ weighted)


def strongest_directions(
    words: sp.csr_array | Float[np.ndarray, "texts words"],
    dim: int,
    seed: int,
    num_iterations: int = NUM_POWER_ITERATIONS,
    parts: sp.csr_array | None = None,
) -> Float[np.ndarray, "words dim"]:
    """Return V, strongest direction first; columns beyond the size of B, or B T, are zero.

    With ``parts``, the matrix T, V is computed from B T, and T V is returned, so that the product
    with B is B T V. The result has the precision of B. Fewer iterations separate directions of
    similar strength less well.

    Raises:
        ConfigError: ``dim`` is below 1.
    """
    if dim < 1:
        raise ConfigError(f"dim must be at least 1, not {dim}")
    # B T has far more entries than B and T together, so the product is never formed.
    matrix = words if parts is None else aslinearoperator(words) @ aslinearoperator(parts)
    found = min(dim, *matrix.shape)
    directions = np.zeros((words.shape[1], dim), dtype=words.dtype)
    is_zero = words.nnz == 0 if isinstance(words, sp.csr_array) else not words.any()
    if found and not is_zero:
        state = generator_for(seed, "latent features").initial_seed()
        strongest = _strongest_rows(matrix, found, state, num_iterations).T
        directions[:, :found] = strongest if parts is None else parts @ strongest
    return directions


def _strongest_rows(
    words: sp.csr_array | Float[np.ndarray, "texts words"] | LinearOperator,
    found: int,
    state: int,
    num_iterations: int,
) -> Float[np.ndarray, "found words"]:
    """Return Vᵀ, signed so that the largest entry of every column of U is positive.

    The result equals that of scikit-learn's ``randomized_svd``, without the two seconds it takes to
    import scikit-learn.
    """
    is_wide = words.shape[0] < words.shape[1]
    tall = words.T if is_wide else words
    draws = np.random.RandomState(state)
    basis = draws.normal(size=(tall.shape[1], found + NUM_SPARE_DIRECTIONS)).astype(words.dtype)
    for _ in range(num_iterations):
        for matrix in (tall, tall.T):
            basis, _ = linalg.lu(matrix @ basis, permute_l=True, check_finite=False)
    basis, _ = linalg.qr(tall @ basis, mode="economic", check_finite=False)
    turn, _, across = linalg.svd((tall.T @ basis).T, full_matrices=False)
    along = (basis @ turn).T
    left, right = (across, along) if is_wide else (along, across)
    largest = left[np.arange(len(left)), np.abs(left).argmax(axis=1)]
    rows: np.ndarray = (right * np.sign(largest)[:, None])[:found]
    return rows
