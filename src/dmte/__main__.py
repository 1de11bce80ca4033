"""Where ``dmte`` and ``python -m dmte`` start."""

import os
import sys


def main() -> None:
    """Run the command line; exits the process."""
    # A thread that waits for another spins for a moment, then sleeps. Training on Cora on two idle
    # cores: 8.5 s so, 14.2 s when it sleeps at once, 9.4 s when it spins for long; with two other
    # programs running 23 to 29 s, 22 to 45 s, and up to fifty times as long. GNU's OpenMP knows the
    # first of these, others the second; they are read once, when torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from dmte.cli import main as run
    except KeyboardInterrupt:
        sys.exit("dmte: interrupted")
    run()


if __name__ == "__main__":
    main()
