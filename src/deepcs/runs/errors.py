"""What can be wrong with a run's folder."""


class RunError(ValueError):
    """A run folder that cannot be used as asked."""


class LockLostError(RuntimeError):
    """The lock on a run was taken away while it was held."""
