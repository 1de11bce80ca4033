"""``python -m dmte`` is ``dmte``."""

from dmte.cli import main

main()
