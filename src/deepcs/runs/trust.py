"""Whether a run's own code may be called: worlds, agents and networks given as module:name.

A run's settings are a file, and files come from anywhere. What they name is imported and called
only if this user trained the run, or allows it. A signature in config.json, made with a key that
is kept outside of every run, in the user's home, shows that this user trained it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path

from deepcs.runs.config import RunConfig
from deepcs.system.files import read_file
from deepcs.system.importing import allow, is_path, source_of

KEY_BYTES = 32


class CodeError(ValueError):
    """Code that was not allowed to be run."""

    def __init__(self, sentence: str, code: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.code = tuple(code)
        """each module:name that would have been run; empty: allowing it would not help"""


def code_of(config: RunConfig) -> list[str]:
    """What a run would import and call: each module:name among its settings."""
    return [name for name in (config.world, config.agent, config.network) if is_path(name)]


def code_digests(config: RunConfig) -> dict[str, str]:
    """SHA-256 of each module that the run calls, by what it is called among the versions."""
    sources = {name.partition(":")[0]: source_of(name) for name in code_of(config)}
    return {
        f"code of {module}": hashlib.sha256(source).hexdigest()
        for module, source in sources.items()
        if source is not None
    }


def changed_code(config: RunConfig, versions: dict[str, str]) -> str:
    """Names of the modules that are not as they were when the run began; versions: the run's."""
    found = code_digests(config).items()
    return ", ".join(
        name.removeprefix("code of ")
        for name, digest in found
        if versions.get(name, digest) != digest
    )


def check_code(
    path: Path, config: RunConfig, trained_here: bool, allowed: bool | Collection[str]
) -> None:
    """Raise CodeError unless the run calls no code, this user trained it, or it is allowed: any
    code, or each module:name of these.

    A game that a program registered is code too, which only that program can bring.
    """
    try:
        config.check_position()
    except ValueError as error:
        raise CodeError(
            f"{path} was trained in {config.world} with positions that a program had registered; "
            "play it in a program that calls register_game first, or train it as module:NAME, "
            "which all commands find."
        ) from error
    names = code_of(config)
    if not names:
        return
    fine = allowed if isinstance(allowed, bool) else set(names) <= set(allowed)
    if not trained_here and not fine:
        raise CodeError(
            f"{path} was not trained here by you, and would run code: {', '.join(names)}; "
            "look at it first, then allow it with --allow-code.",
            names,
        )
    allow(names)


def sign(text: str) -> str | None:
    """This user's signature of a text; None if there is nowhere to keep a key."""
    try:
        key = _key(make=True)
    except (OSError, RuntimeError):  # no folder, or no home at all
        return None
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest() if key else None


def is_signed(text: str, signature: object) -> bool:
    """Whether this user signed the text."""
    try:
        key = _key(make=False)
    except (OSError, RuntimeError):
        return False
    if not key or not isinstance(signature, str):
        return False
    expected = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


def key_path() -> Path:
    """Where this user's key is kept."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "deepcs" / "key"


def _key(*, make: bool) -> bytes:
    """This user's key; empty if there is none."""
    path = key_path()
    if not path.exists() and make:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = path.with_name(f".key-{secrets.token_hex(8)}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            os.fsync(file.fileno())
        try:
            os.link(beside, path)  # unless another process was quicker
        except FileExistsError:
            pass
        finally:
            beside.unlink()
    key = read_file(path) if path.exists() else b""
    return key if len(key) == KEY_BYTES else b""
