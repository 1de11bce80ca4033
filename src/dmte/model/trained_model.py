"""A trained model and its folder: the vectors, the parameters and the network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy.sparse as sp
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dmte.embedding.embedding import Embedding, Neighbor
from dmte.errors import ConfigError, StorageError, warn
from dmte.model.assemble import Assembly
from dmte.model.diffusion_maps import DiffusionMaps
from dmte.model.history import History, history_to_json
from dmte.model.model_parts import (
    check_sizes,
    stored_config,
    stored_history,
    stored_links,
    stored_words,
)
from dmte.model.new_vertices import embed_new_vertices, extend
from dmte.model.stored_parameters import stored_network, stored_parameters
from dmte.network import TextualNetwork
from dmte.runtime.formatting import html_table
from dmte.runtime.provenance import environment
from dmte.search.stored_vectors import VECTOR_PARTS, stored_vectors
from dmte.settings import Settings
from dmte.storage.codec import encode_json, encode_tensors
from dmte.storage.folder import read_parts, write_parts
from dmte.storage.stored_parts import StoredParts
from dmte.text import Vocabulary

NEEDED = (
    *("config.json", "history.json", "parameters.safetensors", "texts.json", "edges.safetensors"),
    *("vocabulary.json", *VECTOR_PARTS),
)
"""The parts that every model has; features are another."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainedModel:
    """The result of training, which can be stored in a folder.

    >>> from dmte import Dmte, read_network
    >>> trained = Dmte(dim=64, epochs=1).fit(read_network("concepts")).model_
    >>> trained.most_similar_to_text("a tree that is searched", k=1)[0].id
    'red-black-tree'
    >>> trained.embed_text("a tree that is searched").shape, trained.describe()["seed"]
    (torch.Size([64]), 0)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     trained.save(folder)
    ...     TrainedModel.load(folder)
    TrainedModel(Embedding(432 vertices × 64, of which 64 from text), seed 0)
    """

    settings: Settings
    seed: int
    network: TextualNetwork
    """The training network."""
    vocabulary: Vocabulary
    model: DiffusionMaps
    embedding: Embedding
    history: History
    """Loss and validation AUC of every epoch."""

    def __repr__(self) -> str:
        return f"TrainedModel({self.embedding!r}, seed {self.seed})"

    def _repr_html_(self) -> str:
        rows = [("network", repr(self.network)), ("vectors", repr(self.embedding))]
        rows += [("seed", str(self.seed))]
        if self.history:
            rows.append(("epochs", str(self.history[-1].epoch)))
        rows += [(name, str(value)) for name, value in self.settings.to_dict().items()]
        return html_table(repr(self), ("what", "value"), rows, len(rows), most=len(rows))

    @property
    def assembly(self) -> Assembly:
        """The assembly of a vector from its halves."""
        return Assembly.of(self.settings)

    def embed_text(self, text: str) -> Float[Tensor, " half"]:
        """Return the text half of a new vertex with this text and without edges.

        Raises:
            ConfigError: No word of the text is known, or the model reads features.
        """
        if not self.settings.encoder_traits.reads_words:
            raise ConfigError(
                "this model reads features, not words; embed the text as a new vertex with "
                "features of the same encoder"
            )
        tokens = self.vocabulary.encode([text])
        if len(tokens.tokens) == 0:
            raise ConfigError(
                f"no word of {text!r} occurs in the texts of the model"
                if text.strip()
                else "the text is empty"
            )
        alone = self.model.transition_of(sp.csr_array((1, 1)))
        with torch.no_grad():
            row = self.model.text_embedding(self.model.encoder.prepare(tokens), alone)[0]
        return row * self.assembly.text_weight

    def most_similar_to_text(
        self,
        text: str,
        k: int = 10,
        *,
        among: Bool[Tensor, " vertices"] | None = None,
        approximate: bool = False,
    ) -> list[Neighbor]:
        """Return the ``k`` vertices with the text half closest to that of ``text``, best first."""
        return self.embedding.closest(
            self.embed_text(text), k, half="text", among=among, approximate=approximate
        )

    def embed(self, new: TextualNetwork, *, skip_known: bool = False) -> Embedding:
        """Return the vectors of the vertices of ``new`` that are not in the model.

        Edges may lead to vertices of the model, which ``new`` names by their ids, without a text.
        Other vertices of the model are an error, unless ``skip_known`` ignores them. The model
        does not change.

        >>> import dmte
        >>> trained = dmte.Dmte(dim=64, epochs=1).fit(dmte.read_network("concepts")).model_
        >>> new = TextualNetwork(
        ...     ids=("fractal-tree", "b-tree"),
        ...     texts=("a search tree with buffers in its nodes", ""),
        ...     edges=torch.tensor([[0, 1]]),
        ... )
        >>> trained.embed(new)
        Embedding(1 vertex × 64, of which 64 from text)

        With ``skip_known`` and no new vertex, there is a warning and the result is empty.

        Raises:
            NetworkError: No vertex is new, or one is already in the model.
        """
        if skip_known and set(new.ids) <= set(self.network.ids):
            warn("nothing is new: the model has every vertex already")
            return Embedding((), self.embedding.vectors[:0], self.embedding.text_dim)
        extension = extend(self.network, new, skip_known=skip_known)
        return embed_new_vertices(
            self.model, self.vocabulary, self.network, self.embedding, extension, self.assembly
        )

    def save(self, folder: Path | str) -> None:
        """Store the model in ``folder``; an older one stays intact until it is replaced.

        Raises:
            StorageError: The folder has other contents or cannot be written.
        """
        network = self.network
        labels = None if network.labels is None else [sorted(classes) for classes in network.labels]
        # Before the vectors are encoded, since the JSON of all texts is large for a moment.
        facts = self.describe()
        texts = encode_json({"texts": list(network.texts), "labels": labels})
        parts = self.embedding.parts() | {
            "parameters.safetensors": encode_tensors(self.model.state_dict()),
            "vocabulary.json": encode_json(list(self.vocabulary.words)),
            "texts.json": texts,
            "edges.safetensors": encode_tensors(
                {"edges": network.edges, "weights": network.edge_weights}
            ),
            "config.json": encode_json(facts),
            "history.json": encode_json(history_to_json(self.history)),
        }
        if network.features is not None:
            parts["features.safetensors"] = encode_tensors({"features": network.features})
        write_parts(Path(folder), parts, card=_card(self, facts))

    def describe(self) -> dict[str, Any]:
        """Return the settings, the seed, the versions and the fingerprint of the network."""
        return {
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "network": {
                "vertices": self.network.num_vertices,
                "edges": len(self.network.edges),
                "directed": self.network.directed,
                "fingerprint": self.network.fingerprint(),
            },
        } | environment()

    @classmethod
    def load(cls, folder: Path | str) -> "TrainedModel":
        """Return the model stored in ``folder``, after checking every file.

        Raises:
            StorageError: The folder has no model, or it is damaged.
        """
        parts = StoredParts(Path(folder), read_parts(Path(folder)))
        missing = [name for name in NEEDED if name not in parts]
        if missing:
            raise StorageError(
                f"{folder} is not the folder of a model: {', '.join(missing)} not found; "
                "Embedding.load reads an embedding"
            )
        config, vectors = stored_config(parts), stored_vectors(parts)
        links = stored_links(parts, len(vectors.ids))
        check_sizes(parts, config, vectors, links)
        embedding = Embedding.of(vectors)
        vocabulary = Vocabulary(stored_words(parts))
        network = stored_network(parts, config, embedding.ids, links)
        model = stored_parameters(parts, config, vocabulary, network)
        history = tuple(stored_history(parts))
        return cls(config.settings, config.seed, network, vocabulary, model, embedding, history)


def _card(trained: TrainedModel, made: dict[str, Any]) -> str:
    """Return the README.md of a model folder; nothing in it comes from the texts or ids."""
    settings = "\n".join(f"| {k} | {v} |" for k, v in trained.settings.to_dict().items())
    return f"""# A dmte model

{trained.embedding!r}, trained on {trained.network!r} with seed {trained.seed}
by dmte {made["versions"]["dmte"]} (torch {made["versions"]["torch"]}, {made["threads"]} threads).

The folder holds the texts and edges it was trained on. Fingerprint of the network:
`{made["network"]["fingerprint"]}`.

    from dmte import Embedding, TrainedModel
    vectors = Embedding.load("this folder")
    vectors.most_similar(vectors.ids[0])
    TrainedModel.load("this folder").most_similar_to_text("any words")

| setting | value |
| --- | --- |
{settings}
"""
