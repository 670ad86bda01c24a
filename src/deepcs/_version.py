"""The version, once: pyproject.toml, run folders and `deepcs --version` read it here."""

__version__ = "0.2.0"
