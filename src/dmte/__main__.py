"""Where ``dmte`` and ``python -m dmte`` start."""

import os
import sys


def main() -> None:
    """Run the command line; exits the process."""
    # An epoch of DBLP on two idle cores: 0.71 s when a thread sleeps while it waits for another,
    # 0.59 s when it spins. With something else running: 0.8 to 1.6 s against 2.4 to 7.3 s, and on a
    # small network fifty times as long. OpenMP reads this once, when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from dmte.cli import main as run
    except KeyboardInterrupt:
        sys.exit("dmte: interrupted")
    run()


if __name__ == "__main__":
    main()
