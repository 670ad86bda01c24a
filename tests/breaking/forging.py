"""Run folders that were edited by one who knows how their digests are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepcs.runs.folder import digest_of


def change(run: Path, *, forge: bool = True, **settings: Any) -> None:
    """Edit settings in config.json; forge: as one who knows how its digest is made."""
    path = run / "config.json"
    content = json.loads(path.read_bytes())
    content["config"] |= settings
    if forge:
        del content["digest"]
        content["digest"] = digest_of(content)
    path.write_text(json.dumps(content))


def change_state(checkpoint: Path, edit: Callable[[Any], Any]) -> None:
    """Replace a checkpoint's state.json by what `edit` makes of its content, and its digest."""
    state = edit(json.loads((checkpoint / "state.json").read_bytes()))
    content = state if isinstance(state, bytes) else json.dumps(state).encode()
    (checkpoint / "state.json").write_bytes(content)
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    manifest["state.json"] = hashlib.sha256(content).hexdigest()
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))
