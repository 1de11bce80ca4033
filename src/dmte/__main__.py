"""Entry point of ``dmte`` and ``python -m dmte``."""

import gc
import os
import sys

NEW_OBJECTS = 10_000
"""New objects after which Python looks for garbage, which takes time: imports and networks make
many objects, and all of them last. Python's default is 700 or 2,000."""


def main() -> None:
    """Run the command line and exit."""
    # Waiting threads spin for a moment, then sleep. Training on Cora on two idle cores takes 8.5 s;
    # 14.2 s if they sleep at once, 9.4 s if they spin for long. With two other programs running it
    # takes 23 to 29 s, 22 to 45 s, and up to fifty times as long. GNU's OpenMP reads the first
    # variable, others the second, once, when torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    gc.set_threshold(NEW_OBJECTS)
    try:
        from dmte.cli import main as run
    except KeyboardInterrupt:
        sys.exit("dmte: interrupted")
    try:
        run()
    finally:
        gc.freeze()  # Python looks for garbage once more before it exits.


if __name__ == "__main__":
    main()
