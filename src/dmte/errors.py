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

A message is one lower-case sentence: what must hold, what was found, and what to do. The command
line prints it as it is.
"""

import warnings


class DmteError(Exception):
    """The base of all errors that a caller can fix.

    >>> import dmte
    >>> try:
    ...     dmte.read_network("no-such-place")
    ... except dmte.DmteError as problem:
    ...     print(type(problem).__name__)
    NetworkError
    """


class NetworkError(DmteError):
    """A network, or the file it comes from, is invalid."""


class DownloadError(DmteError):
    """A data set cannot be downloaded, or is not the expected one."""


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
    warnings.warn(message, kind, stacklevel=3)
