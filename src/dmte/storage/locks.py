"""A lock that the system lets go of however its holder ends, a kill included."""

import sys
from contextlib import suppress

from dmte.errors import DmteError

if sys.platform != "win32":
    import fcntl


def hold(descriptor: int, refusal: DmteError) -> None:
    """Keep an open file or folder to ourselves until it is closed.

    Where the system has no such locks, as some network file systems, nothing is locked.

    Raises:
        DmteError: Somebody else holds it: ``refusal``, which says what to do.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal from None
