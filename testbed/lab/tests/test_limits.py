# SPDX-License-Identifier: Apache-2.0
from tidemark_lab import limits

TAIL = {"action": "drop_tail", "limit_bytes": 312_500}
MARK = {"action": "mark_ce", "threshold_bytes": 312_500, "limit_bytes": 937_500}
WITHOUT = {"action": "mark_ce", "threshold_bytes": 312_500, "limit_bytes": None}
UNLIMITED = {"action": "unlimited"}


def test_what_acts_first():
    assert [limits.acts_at_bytes(x) for x in (TAIL, MARK, WITHOUT)] == [312_500] * 3
    assert [limits.acts_at_bytes(x) for x in (UNLIMITED, {}, None)] == [None] * 3


def test_words_have_both_values():
    assert limits.in_words(TAIL) == "312500 bytes"
    assert limits.in_words(MARK) == "312500 bytes, limit 937500 bytes"
    assert limits.in_words(WITHOUT) == "312500 bytes"
    assert limits.in_words(UNLIMITED) == "no limit"


def test_requests_name_what_they_set():
    assert limits.request(TAIL) == {"action": "drop_tail", "bytes": 312_500}
    assert limits.request(MARK) == {
        "action": "mark_ce",
        "threshold_bytes": 312_500,
        "bytes": 937_500,
    }
    assert limits.request(WITHOUT) == {"action": "mark_ce", "threshold_bytes": 312_500}
    assert limits.request(UNLIMITED) == UNLIMITED
