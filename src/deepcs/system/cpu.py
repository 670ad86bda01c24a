"""What this machine's CPU is and can do."""

from __future__ import annotations

from pathlib import Path

BFLOAT16 = ("amx_bf16", "avx512_bf16")  # flags of the instructions that multiply it


def cpu_info() -> str:
    """What Linux says of its CPUs; nothing elsewhere."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def cpu_model(info: str | None = None) -> str:
    """The CPU's name: other CPUs may round differently."""
    return _first(cpu_info() if info is None else info, "model name") or "unknown"


def bfloat16_instructions(info: str | None = None) -> str | None:
    """The instructions by which the CPU multiplies bfloat16; None: it would be emulated."""
    flags = _first(cpu_info() if info is None else info, "flags").split()
    return next((name for name in BFLOAT16 if name in flags), None)


def _first(info: str, name: str) -> str:
    """What the first line of that name says."""
    lines = (line.partition(":") for line in info.splitlines())
    return next((text.strip() for key, _, text in lines if key.strip() == name), "")
