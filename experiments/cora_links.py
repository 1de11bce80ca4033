"""How well do the four versions predict links on Cora, by the protocol of the paper's Table 1?

Needs Cora: set DMTE_DATA to a folder that holds cora/data.txt and cora/graph.txt.

    python experiments/cora_links.py [--versions word-average,...] [--seeds 3]
"""

import argparse
import statistics
import time

from dmte.config import VARIANTS
from dmte.evaluation import published_task, strict_task
from dmte.network.files import read_network
from dmte.training import Dmte

PRINTED = {
    "no-diffusion": {15: 87.4, 55: 93.9},
    "text-only": {15: 82.6, 55: 89.1},
    "bilstm": {15: 86.3, 55: 94.1},
    "word-average": {15: 91.3, 55: 96.0},
}
"""Table 1 of the paper."""


def main() -> None:
    """Print one line per version and training ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--versions", default=",".join(VARIANTS))
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    network = read_network("cora")
    print(network)
    print(f"AUC, mean of {arguments.seeds} seeds, published protocol (strict in brackets)\n")
    print(f"{'version':<14}{'trained on':>11}{'paper':>8}{'ours':>8}{'±':>6}{'strict':>10}{'s':>7}")
    for version in arguments.versions.split(","):
        method = Dmte.of(VARIANTS[version])
        for percent, printed in PRINTED[version].items():
            scores: dict[str, list[float]] = {"published": [], "strict": []}
            started = time.perf_counter()
            for seed in range(arguments.seeds):
                for name, make in (("published", published_task), ("strict", strict_task)):
                    task = make(network, percent / 100, seed)
                    scores[name].append(100 * task.auc(method.fit(task.train, seed)))
            seconds = (time.perf_counter() - started) / (2 * arguments.seeds)
            mean = statistics.mean(scores["published"])
            spread = statistics.stdev(scores["published"]) if arguments.seeds > 1 else 0.0
            strict = statistics.mean(scores["strict"])
            print(
                f"{version:<14}{percent:>10}%{printed:>8.1f}{mean:>8.1f}{spread:>6.1f}"
                f"{f'({strict:.1f})':>10}{seconds:>7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
