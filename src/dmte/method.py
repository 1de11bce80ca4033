"""DMTE as a method, like every method it is compared with: settings in, vectors out."""

from dataclasses import dataclass, fields

from dmte.config import Settings
from dmte.cost import Cost
from dmte.embedding import Embedding
from dmte.estimate import estimate
from dmte.network import TextualNetwork
from dmte.progress import track
from dmte.trained import TrainedModel
from dmte.training import TrainingRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Dmte(Settings):
    """DMTE as a method: its fields are its settings, fitting returns something new."""

    @classmethod
    def of(cls, settings: Settings) -> "Dmte":
        """Return the method with these settings."""
        return cls(
            **{setting.name: getattr(settings, setting.name) for setting in fields(settings)}
        )

    def settings(self) -> Settings:
        """Return the settings alone."""
        return Settings.from_dict(self.to_dict())

    def fit(self, network: TextualNetwork, seed: int) -> Embedding:
        """Return one vector per vertex of ``network``."""
        return self.train(network, seed).embedding

    def estimate(self, network: TextualNetwork) -> Cost:
        """Return what ``fit`` takes here, from a few steps.

        Raises:
            TrainingError: There is too little to learn from.
        """
        return estimate(network, self.settings())

    def train(self, network: TextualNetwork, seed: int) -> TrainedModel:
        """Return the trained model, which can do more than its vectors can.

        Raises:
            TrainingError: There is too little to learn from, or the loss diverged.
        """
        run = TrainingRun(network, self.settings(), seed)
        reports = run.epochs()
        for _ in track(range(self.epochs)):
            if next(reports, None) is None:  # The held-back edges said to stop.
                break
        return run.result()
