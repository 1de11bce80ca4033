"""Every error that dmte raises on purpose, and its warnings.

    DmteError
    ├── NetworkError          a network, or the file it comes from, is invalid
    ├── DownloadError         a data set cannot be downloaded, or is not the expected one
    ├── ConfigError           a setting is out of range or contradicts another
    ├── UnknownVertexError    an id is not in the network or embedding
    ├── SplitError            a split would test on training edges, or leaves too few of them
    ├── TrainingError         training cannot continue
    │   ├── LostProcessError  another process of the training ended or does not answer
    │   └── NotEnoughMemoryError  training or a fit of a method needs more memory than there is
    ├── StorageError          a stored folder is missing, damaged, foreign or not writable
    ├── MissingExtraError     an optional package is not installed
    └── Interrupted           the user stopped a long run

    DmteWarning               something is done, but maybe not as intended
    └── NoTextsWarning        a network has links but no texts

An error with ``is_system_failure`` comes from the machine or the network, any other from the call.
On the command line the exit codes are 1 and 2.

A message is one lower-case sentence: what must hold, what was found, and what to do. It may name
ids and files of others, whose control characters it shows as escapes (``visible``).
"""

import errno
import re
import warnings
from collections.abc import Iterator

_INVISIBLE = re.compile(
    "["
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # Control characters, except tab and line feed.
    r"\xad\u200b\u2060-\u2064\ufeff"  # No width: two ids that differ in them look the same.
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # They change the order of letters.
    r"\u2028\u2029\ufff9-\ufffb"  # Line and paragraph separators, annotations.
    r"\ud800-\udfff"  # Surrogates: bytes of a file name that are not UTF-8.
    r"\U000e0000-\U000e007f"  # Tags.
    "]"
)


def visible(text: str) -> str:
    r"""Show control characters and marks without a shape as escapes, except tabs and line feeds.

    Printed as they are, they could move the cursor, set the title of the window or reverse the
    order of letters.

    >>> print(visible("b\x1b[2J\u202e"))
    b\x1b[2J\u202e
    """
    return _INVISIBLE.sub(lambda found: ascii(found[0])[1:-1], text)


SYSTEM_FAILURES = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE, errno.ENOLCK),
        *(errno.ENOMEM, errno.ENOBUFS, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
        *(errno.ETIMEDOUT, errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED),
        *(errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPIPE),
    }
)
"""Errors of the system that another path or command would not avoid: of disks, limits, networks."""


class DmteError(Exception):
    """The base of all errors that dmte raises on purpose.

    >>> import dmte
    >>> try:
    ...     dmte.read_network("no-such-place")
    ... except dmte.DmteError as problem:
    ...     print(type(problem).__name__)
    NetworkError
    """

    _is_system_failure: bool | None = None

    def __init__(self, *message: object, is_system_failure: bool | None = None) -> None:
        super().__init__(*message)
        if is_system_failure is not None:
            self._is_system_failure = is_system_failure

    @property
    def is_system_failure(self) -> bool:
        """Whether the machine or the network failed, so that the same call may succeed later.

        Otherwise the caller can fix it, for example by another path.
        """
        if self._is_system_failure is None:
            return any(cause.errno in SYSTEM_FAILURES for cause in _system_errors(self))
        return self._is_system_failure

    def __reduce__(self) -> tuple[object, ...]:
        """Keep in other processes what the cause says, which is not copied."""
        return type(self), self.args, {"_is_system_failure": self.is_system_failure}

    def __str__(self) -> str:
        return visible(super().__str__())


def _system_errors(problem: BaseException | None) -> Iterator[OSError]:
    """Yield the errors of the system that led to an error."""
    while problem is not None:
        if isinstance(problem, OSError):
            yield problem
        problem = problem.__cause__ or problem.__context__


class NetworkError(DmteError):
    """A network, or the file it comes from, is invalid."""


class DownloadError(DmteError):
    """A data set cannot be downloaded, or is not the expected one."""

    _is_system_failure = True


class ConfigError(DmteError):
    """A setting is out of range or contradicts another."""


class UnknownVertexError(DmteError):
    """An id is not in the network or embedding."""


class SplitError(DmteError):
    """A split would test on training edges, or leaves too few edges to train on."""


class TrainingError(DmteError):
    """Training cannot continue."""


class LostProcessError(TrainingError):
    """Another process of the training ended or does not answer."""

    _is_system_failure = True


class NotEnoughMemoryError(TrainingError):
    """Training, or a fit of another method, needs more memory than there is."""


class StorageError(DmteError):
    """A stored folder is missing, damaged, foreign or not writable."""


class MissingExtraError(DmteError):
    """An optional package is not installed."""


class Interrupted(DmteError):  # noqa: N818 - nothing is wrong
    """The user stopped a long run; the message says how to resume it."""


class DmteWarning(UserWarning):
    """Something is done, but maybe not as intended.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DmteWarning)  # or "error", to stop at a warning
    ...     warn("edges were left out")
    """


class NoTextsWarning(DmteWarning):
    """A network has links but no texts; with features it needs none."""


def warn(message: str, kind: type[DmteWarning] = DmteWarning) -> None:
    """Issue a warning; the command line prints it as one line."""
    warnings.warn(visible(message), kind, stacklevel=3)
