"""The command line: options and output in this folder, one file per verb in ``verbs/``."""

from dmte.cli.app import main as main
