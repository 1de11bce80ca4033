"""A pretrained sentence encoder, frozen: the text alone, or diffused and not learned.

A model that somebody trained on other texts turns every text into a vector f(t), and nothing of it
changes (Sentence-BERT, Reimers and Gurevych 2019, or averaged word vectors distilled from one):

    x_i = f(t_i) / ‖f(t_i)‖        sentence: X        sentence-diffused: Σ_h λ_h P^h X

Every vector is divided by its length at the end, so a dot product is a cosine. The model is a
folder on disk, as sentence-transformers or model2vec store one, with weights in safetensors;
nothing is ever fetched from a hub, and no code of the folder's is run. A text is cut where the
model stops reading (all-MiniLM-L6-v2: after 256 word pieces), which no other method does.

Every distinct text is encoded once, in float32 and with dropout off, in batches of BATCH_SIZE texts
of about one length. The batches depend on the set of texts alone, not on the order of the
vertices; across different sets a text's vector differs by rounding. The vectors of the last texts
are kept while the process lives, so that of many fits on one network only the first pays for them.

An empty text has the zero vector; diffused, that of its neighbors. A vertex without edges keeps its
own text. Memory is that of the package and twice the weights (all-MiniLM-L6-v2: 480 MB), time that
of encoding (32 abstracts of Cora in 1.7 s of one thread, all of them in two minutes).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from dmte.baselines.lsa import HOP_WEIGHTS, diffuse_texts
from dmte.embedding.embedding import Embedding
from dmte.errors import ConfigError, DmteError, StorageError
from dmte.network import TextualNetwork
from dmte.text.sentence_model import (
    VARIABLE,
    encode_with,
    fingerprint,
    reader_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """The vectors of a pretrained sentence encoder, scored by cosine; nothing is learned."""

    folder: str | None = None
    """Where the model is; none takes the folder that DMTE_SENTENCE_MODEL names."""
    fingerprint: str | None = None
    """The first twelve digits of the SHA-256 of the model's files. Another model is refused, so
    that results are of one model wherever it lies; none takes any."""

    def unavailable_reason(self) -> str | None:
        """Return why the model cannot be read here, or None if it can."""
        try:
            self._model()
        except DmteError as problem:
            return str(problem)
        return None

    def dependency_id(self) -> str:
        """Return the fingerprint of the model; equal fingerprints give equal vectors."""
        return self.fingerprint or fingerprint(self._model())

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:  # noqa: ARG002
        """Encode every text; nothing is drawn and the edges are not looked at.

        Raises:
            StorageError: The folder holds no model that can be read.
            MissingExtraError: The package that reads it is not installed.
        """
        features = self.features(network).clone()  # What is kept for the next fit must not change.
        return Embedding(network.ids, features, text_dim=features.shape[1])

    def features(self, network: TextualNetwork) -> Float[Tensor, "vertices dim"]:
        """Return the vector of every text, of length one; a blank text's is zero."""
        return encode_with(self._model(), network.texts)

    def _model(self) -> Path:
        """Return the folder of the model, once it is clear that it can be read here."""
        given = self.folder or os.environ.get(VARIABLE)
        if not given:
            raise ConfigError(
                f"no sentence encoder was given; set {VARIABLE} to a folder that holds one"
            )
        folder = Path(given)
        if not folder.is_dir():
            raise StorageError(
                f"{given} is no folder; a sentence encoder is read from disk and never fetched, "
                f"so download it first and set {VARIABLE} to where it is"
            )
        reader_of(folder)
        found = fingerprint(folder)
        if self.fingerprint is not None and found != self.fingerprint:
            raise ConfigError(f"{given} holds model {found}, not {self.fingerprint}")
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceDiffused(Sentence):
    """The same, mixed with the texts of the neighbors; nothing is learned."""

    hop_weights: Sequence[float] = HOP_WEIGHTS
    """λ_h of every hop, P^0 included; those of ``LsaDiffused``, not chosen anew."""

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:  # noqa: ARG002
        """Encode every text and diffuse the vectors over the edges.

        Raises:
            ConfigError: There are no ``hop_weights``.
            StorageError: The folder holds no model that can be read.
            MissingExtraError: The package that reads it is not installed.
        """
        return diffuse_texts(network, self.features(network).double(), self.hop_weights)
