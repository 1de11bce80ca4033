"""Every error raised on purpose, and the warnings.

    DmteError
    ├── NetworkError        the network, or the file it comes from, is not one we can read
    ├── DownloadError       a data set cannot be fetched, or what arrived is not what it should be
    ├── ConfigError         a setting is out of range or contradicts another
    ├── UnknownVertexError  an id that is not in the network or embedding
    ├── SplitError          a split that would evaluate on what was trained on
    ├── TrainingError       training cannot go on
    │   └── LostProcessError  another process that takes part is gone
    ├── StorageError        a stored folder is missing, damaged, foreign or cannot be written
    ├── MissingExtraError   an optional package is not installed
    └── Interrupted         the user stopped a long run

    DmteWarning             what was asked for is done, but perhaps not what was meant
    └── NoTextsWarning      a network has links alone

A message says what is wrong, what was found and what to do, in one lower-case sentence: the
command line prints it as it is.
"""

import warnings


class DmteError(Exception):
    """Anything a caller of this package can put right.

    >>> import dmte
    >>> try:
    ...     dmte.read_network("no-such-place")
    ... except dmte.DmteError as problem:
    ...     print(type(problem).__name__)
    NetworkError
    """


class NetworkError(DmteError):
    """The network, or the file it comes from, is not one we can read."""


class DownloadError(DmteError):
    """A data set cannot be fetched, or what arrived is not what it should be."""


class ConfigError(DmteError):
    """A setting is out of range or contradicts another."""


class UnknownVertexError(DmteError):
    """An id that is not in the network or embedding."""


class SplitError(DmteError):
    """A split that would evaluate on what was trained on, or that leaves nothing to learn from."""


class TrainingError(DmteError):
    """Training cannot go on."""


class LostProcessError(TrainingError):
    """Another process that takes part in a training is gone, or does not answer."""


class StorageError(DmteError):
    """A stored folder is missing, damaged, foreign or cannot be written."""


class MissingExtraError(DmteError):
    """An optional package is not installed."""


class Interrupted(DmteError):  # noqa: N818 - nothing went wrong
    """The user stopped a long run; says how to go on with it."""


class DmteWarning(UserWarning):
    """What was asked for is done, but perhaps not what was meant.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DmteWarning)  # or "error", to be stopped by it
    ...     warn("edges were left out")
    """


class NoTextsWarning(DmteWarning):
    """A network has links alone, which does not matter to those who have features of it."""


def warn(message: str, kind: type[DmteWarning] = DmteWarning) -> None:
    """Give a warning, which the command line prints as one line and Python shows as it does."""
    warnings.warn(message, kind, stacklevel=3)
