"""A frozen pretrained sentence encoder, plain or diffused.

A model trained on other texts turns every text into a vector f(t). It is Sentence-BERT (Reimers and
Gurevych 2019) or averaged word vectors distilled from one:

    x_i = f(t_i) / ‖f(t_i)‖        sentence: X        sentence-diffused: Σ_h λ_h P^h X

Every vector is divided by its length at the end, so a dot product is a cosine. The model is a local
folder of sentence-transformers or model2vec with weights in safetensors. Nothing is downloaded, and
no code in the folder is run. The model truncates texts (all-MiniLM-L6-v2: after 256 word pieces);
no other method does.

Every distinct text is encoded once, in float32 without dropout, in batches of BATCH_SIZE texts of
similar length. The batches depend only on the set of texts, not on the order of the vertices;
across different sets a text's vector differs by rounding. The process caches the vectors of the
last texts, so that many fits on one network encode once.

An empty text has the zero vector; diffused, that of its neighbors. A vertex without edges keeps its
own text. Memory is that of the package and twice the weights (all-MiniLM-L6-v2: 480 MB). Time is
that of encoding (32 abstracts of Cora in 1.7 s on one thread, all of them in two minutes).
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
from dmte.text.sentence_model import VARIABLE, encode_with, fingerprint, reader_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """The vectors of a pretrained sentence encoder, scored by cosine; nothing is learned."""

    folder: str | None = None
    """The folder of the model; ``None`` uses the environment variable DMTE_SENTENCE_MODEL."""
    fingerprint: str | None = None
    """The first twelve digits of the SHA-256 of the model's files. A model with another fingerprint
    is an error; ``None`` accepts any."""

    def unavailable_reason(self) -> str | None:
        """Return the reason why the model cannot be read, or ``None`` if it can."""
        try:
            self._model()
        except DmteError as problem:
            return str(problem)
        return None

    def dependency_id(self) -> str:
        """Return the fingerprint of the model; equal fingerprints give equal vectors."""
        return self.fingerprint or fingerprint(self._model())

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:  # noqa: ARG002
        """Encode every text; ignores the seed and the edges.

        Raises:
            StorageError: The folder holds no model that can be read.
            MissingExtraError: The package that reads it is not installed.
        """
        features = self.features(network).clone()  # Protects the cache.
        return Embedding(network.ids, features, text_dim=features.shape[1])

    def features(self, network: TextualNetwork) -> Float[Tensor, "vertices dim"]:
        """Return the unit vector of every text; that of a blank text is zero."""
        return encode_with(self._model(), network.texts)

    def _model(self) -> Path:
        """Return the folder of the model after checking that it can be read."""
        given = self.folder or os.environ.get(VARIABLE)
        if not given:
            raise ConfigError(
                f"no sentence encoder was given; set {VARIABLE} to the folder of a model"
            )
        folder = Path(given)
        if not folder.is_dir():
            raise StorageError(
                f"{given} is not a folder; sentence encoders are not downloaded, so download one "
                f"and set {VARIABLE} to its folder"
            )
        reader_of(folder)
        found = fingerprint(folder)
        if self.fingerprint is not None and found != self.fingerprint:
            raise ConfigError(f"{given} holds model {found}, not {self.fingerprint}")
        return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceDiffused(Sentence):
    """The vectors of a sentence encoder diffused over the edges; nothing is learned."""

    hop_weights: Sequence[float] = HOP_WEIGHTS
    """λ_h of every hop, P^0 included; those of ``LsaDiffused``, not tuned again."""

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:  # noqa: ARG002
        """Encode every text and diffuse the vectors over the edges.

        Raises:
            ConfigError: ``hop_weights`` is empty.
            StorageError: The folder holds no model that can be read.
            MissingExtraError: The package that reads it is not installed.
        """
        return diffuse_texts(network, self.features(network).double(), self.hop_weights)
