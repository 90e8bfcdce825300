"""The one error hierarchy, split by what the caller can do. Raised everywhere, printed by the command line."""


class RltrainError(Exception):
    """Base of every error that rltrain raises on purpose; its text is a sentence for the user."""

    exit_code = 1


class UserError(RltrainError):
    """The user must change something (a manifest, a path, a key): trying again alone does not help."""

    exit_code = 2


class FencedError(RltrainError):
    """Another attempt owns the run directory; this process must write nothing more."""

    exit_code = 3


class RetryLater(RltrainError):
    """A condition outside of the program (disk, memory, network) that may pass: resume then."""

    exit_code = 4
