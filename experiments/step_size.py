"""Which step size gives the best AUC on validation edges?

The paper does not print its step size. Test edges are not used: each trial takes the training edges
of a strict split, holds out a tenth and computes their AUC every 25 epochs. Needs DMTE_DATA.

    python experiments/step_size.py
"""

import json
from dataclasses import replace
from pathlib import Path

from dmte.evaluation import strict_task
from dmte.network import TextualNetwork, read_network
from dmte.recipes import PAPER
from dmte.training.run import TrainingRun

RESULTS = Path(__file__).with_suffix(".json")
SEEDS = (100, 101)
EPOCHS = 200


def curve(network: TextualNetwork, train_fraction: float, learning_rate: float) -> dict[int, float]:
    """Compute the mean AUC on validation edges, in per cent, by epoch."""
    aucs: dict[int, list[float]] = {}
    for seed in SEEDS:
        settings = replace(
            PAPER,
            learning_rate=learning_rate,
            epochs=EPOCHS,
            validation_fraction=0.1,
            validate_every=25,
            patience=EPOCHS,
        )
        train = strict_task(network, train_fraction, seed).train
        for report in TrainingRun(train, settings, seed).epochs():
            if report.validation_auc is not None:
                aucs.setdefault(report.epoch, []).append(100 * report.validation_auc)
    return {epoch: round(sum(values) / len(values), 2) for epoch, values in aucs.items()}


def main() -> None:
    """Measure every network, share and step size; print and store the curves."""
    curves = {}
    for name in ("cora", "hepth", "concepts"):
        network = read_network(name)
        for train_fraction in (0.15, 0.55):
            for learning_rate in (0.001, 0.003, 0.01):
                found = curve(network, train_fraction, learning_rate)
                curves[f"{name} {train_fraction} {learning_rate}"] = found
                RESULTS.write_text(json.dumps(curves, indent=2) + "\n")
                print(
                    f"{name:<9}{train_fraction:>6}{learning_rate:>7}  {found[EPOCHS]:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
