"""What is read of a CPU."""

from __future__ import annotations

import pytest

from deepcs.system.cpu import bfloat16_instructions, cpu_model

TWO_CPUS = """processor\t: {}
vendor_id\t: GenuineIntel
model name\t: A CPU @ 2.00GHz
flags\t\t: fpu avx2 {}
bugs\t\t: spectre_v1

"""


def test_the_name_is_that_of_the_first_cpu() -> None:
    assert cpu_model(TWO_CPUS.format(0, "") + TWO_CPUS.format(1, "")) == "A CPU @ 2.00GHz"
    assert cpu_model("") == "unknown"
    assert cpu_model()


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ("avx512f", None),
        ("avx512f avx512_bf16", "avx512_bf16"),
        ("avx512_bf16 amx_bf16 amx_tile", "amx_bf16"),
    ],
)
def test_half_precision_needs_instructions_of_its_own(flags: str, found: str | None) -> None:
    assert bfloat16_instructions(TWO_CPUS.format(0, flags)) == found
    assert bfloat16_instructions("") is None
