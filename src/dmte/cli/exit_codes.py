"""Exit codes of the command line, which docs/command-line.md lists by kind of error."""

from dmte.errors import DmteError, Interrupted

SYSTEM_FAILURE, USERS_MISTAKE = 1, 2
INTERRUPTED = 130
"""After Ctrl-C, by convention of shells and typer."""


def exit_code(problem: DmteError) -> int:
    """Exit code of an error."""
    if isinstance(problem, Interrupted):
        return INTERRUPTED
    return SYSTEM_FAILURE if problem.is_system_failure else USERS_MISTAKE
