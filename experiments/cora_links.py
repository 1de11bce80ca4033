"""How well do the four versions and the references predict links on Cora, beside Table 1?

Needs Cora: set DMTE_DATA to a folder that holds cora/data.txt and cora/graph.txt. Results are kept
in cora_links.json beside this file, a cell per method, ratio and protocol.

    python experiments/cora_links.py [--methods dmte-paper,...] [--percents 15,55] [--seeds 3]
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from dmte.config import Settings
from dmte.evaluation import METHODS, PROTOCOLS
from dmte.network import TextualNetwork, read_network
from dmte.trained import environment

RESULTS = Path(__file__).with_suffix(".json")
PRINTED = {
    "dmte-paper": {15: 91.3, 55: 96.0},
    "dmte-paper-no-diffusion": {15: 87.4, 55: 93.9},
    "dmte-paper-text-only": {15: 82.6, 55: 89.1},
    "dmte-paper-bilstm": {15: 86.3, 55: 94.1},
}
"""Table 1 of the paper at 15 and 55 %."""


def measure(
    network: TextualNetwork, name: str, percent: int, protocol: str, num_seeds: int
) -> dict[str, Any]:
    """Return the AUC of every seed, in per cent, with what it was made with."""
    method = METHODS[name]
    started = time.perf_counter()
    values = []
    for seed in range(num_seeds):
        task = PROTOCOLS[protocol](network, percent / 100, seed)
        values.append(round(100 * task.auc(method.fit(task.train, seed)), 2))
    return {
        "method": name,
        "percent": percent,
        "protocol": protocol,
        "paper": PRINTED.get(name, {}).get(percent),
        "auc": values,
        "seconds_per_fit": round((time.perf_counter() - started) / num_seeds, 1),
        "settings": method.to_dict() if isinstance(method, Settings) else {},
        "network": network.fingerprint(),
    } | environment()


def show(cell: dict[str, Any]) -> str:
    """Return a cell as one line."""
    mean = statistics.mean(cell["auc"])
    spread = f"{statistics.stdev(cell['auc']):.1f}" if len(cell["auc"]) > 1 else ""
    return (
        f"{cell['method']:<25}{cell['percent']:>9}%  {cell['protocol']:<11}"
        f"{cell['paper'] or '':>5}{mean:7.1f}{spread:>5}{cell['seconds_per_fit']:6.1f}"
    )


def main() -> None:
    """Measure what was asked for, print a line per cell and keep it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--methods", default=",".join(m for m in METHODS if "bilstm" not in m))
    parser.add_argument("--percents", default="15,55")
    parser.add_argument("--protocols", default="published,strict")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    network = read_network("cora")
    cells = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    print(f"{network!r}\n\n{'method':<25}trained on  protocol   paper   ours    ±     s")
    for name in arguments.methods.split(","):
        for percent in map(int, arguments.percents.split(",")):
            for protocol in arguments.protocols.split(","):
                cell = measure(network, name, percent, protocol, arguments.seeds)
                cells[f"{name} {percent} {protocol}"] = cell
                RESULTS.write_text(json.dumps(cells, indent=2) + "\n")
                print(show(cell), flush=True)


if __name__ == "__main__":
    main()
