"""How well do the four versions predict links on Cora, beside the paper's Table 1?

Needs Cora: set DMTE_DATA to a folder that holds cora/data.txt and cora/graph.txt. Results are kept
in cora_links.json beside this file, a cell per version, ratio and protocol.

    python experiments/cora_links.py [--versions word-average,...] [--percents 15,55] [--seeds 3]
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from dmte.config import VARIANTS
from dmte.evaluation import PROTOCOLS
from dmte.network import TextualNetwork, read_network
from dmte.trained import environment
from dmte.training import Dmte

RESULTS = Path(__file__).with_suffix(".json")
PRINTED = {
    "no-diffusion": {15: 87.4, 55: 93.9},
    "text-only": {15: 82.6, 55: 89.1},
    "bilstm": {15: 86.3, 55: 94.1},
    "word-average": {15: 91.3, 55: 96.0},
}
"""Table 1 of the paper at 15 and 55 %."""


def measure(
    network: TextualNetwork, version: str, percent: int, protocol: str, num_seeds: int
) -> dict[str, Any]:
    """Return the AUC of every seed, in per cent, with what it was made with."""
    method = Dmte.of(VARIANTS[version])
    started = time.perf_counter()
    values = []
    for seed in range(num_seeds):
        task = PROTOCOLS[protocol](network, percent / 100, seed)
        values.append(round(100 * task.auc(method.fit(task.train, seed)), 2))
    return {
        "version": version,
        "percent": percent,
        "protocol": protocol,
        "paper": PRINTED[version][percent],
        "auc": values,
        "seconds_per_fit": round((time.perf_counter() - started) / num_seeds, 1),
        "settings": method.settings().to_dict(),
        "network": network.fingerprint(),
    } | environment()


def main() -> None:
    """Measure what was asked for, print a line per cell and keep it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--versions", default="word-average,no-diffusion,text-only")
    parser.add_argument("--percents", default="15,55")
    parser.add_argument("--protocols", default="published,strict")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    network = read_network("cora")
    cells = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(
        f"{network!r}\n\n{'version':<15}{'trained on':>10}  {'protocol':<11}paper   ours    ±   s"
    )
    for version in arguments.versions.split(","):
        for percent in map(int, arguments.percents.split(",")):
            for protocol in arguments.protocols.split(","):
                cell = measure(network, version, percent, protocol, arguments.seeds)
                cells[f"{version} {percent} {protocol}"] = cell
                RESULTS.write_text(json.dumps(cells, indent=2) + "\n")
                spread = statistics.stdev(cell["auc"]) if arguments.seeds > 1 else 0.0
                print(
                    f"{version:<15}{percent:>9}%  {protocol:<11}{cell['paper']:5.1f}"
                    f"{statistics.mean(cell['auc']):7.1f}{spread:5.1f}{cell['seconds_per_fit']:5.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
