# SPDX-License-Identifier: Apache-2.0
"""The lab parses quantities like the programs: the cases of `contract/units.toml`."""

import re
import sys
from pathlib import Path

import pytest

from tidemark_lab.experiment import quantities, units

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).parents[3] / "contract/units.toml"
QUANTITIES = ["rate", "time", "size", "ratio", "number"]
CASES = [
    (quantity, text, value)
    for quantity, rows in tomllib.loads(TABLE.read_text()).items()
    for text, value in rows["cases"].items()
]


def test_every_quantity_has_cases():
    assert {quantity for quantity, *_ in CASES} == set(QUANTITIES)


@pytest.mark.parametrize(("quantity", "text", "value"), CASES)
def test_a_case_of_the_table(quantity, text, value):
    table = getattr(units, quantity.upper())
    pattern = quantities.text_schema(table, quantity, [])["pattern"]
    if value == "refused":
        with pytest.raises(ValueError):
            quantities._parse(text, table, "")
    else:
        assert quantities._parse(text, table, "")[0] == pytest.approx(value, rel=1e-9)
        assert re.search(pattern, text)


def test_a_fraction_is_within_the_whole():
    assert quantities.fraction("98%") == pytest.approx(0.98)
    assert quantities.fraction("0.98") == 0.98
    for text in ("120%", "1.2", "98"):
        with pytest.raises(ValueError, match="is not within 0 to 1"):
            quantities.fraction(text)
