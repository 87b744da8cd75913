# SPDX-License-Identifier: Apache-2.0
"""CPU time of processes and of their threads."""

import subprocess
import sys

from tidemark_lab.machine import busiest_thread_s, process_cpu_s, thread_cpu_s

# Two threads use 0.4 s and 0.2 s, then wait for the end of standard input.
CHILD = """
import hashlib, sys, threading, time
used = threading.Barrier(3)
def work(seconds):
    while time.thread_time() < seconds:
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1000)
    used.wait()
    sys.stdin.read()
for seconds in (0.4, 0.2):
    threading.Thread(target=work, args=(seconds,), daemon=True).start()
used.wait()
print(flush=True)
sys.stdin.read()
"""


def test_the_busiest_thread_is_told_from_the_whole_process():
    argv = [sys.executable, "-c", CHILD]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        threads, whole = thread_cpu_s(child.pid), process_cpu_s(child.pid)
        child.stdin.close()
    assert len(threads) == 3
    busiest = busiest_thread_s({}, threads)
    assert busiest == max(threads.values()) >= 0.35
    # The kernel counts ticks of 10 ms.
    assert whole >= busiest + 0.15
    (first,) = (t for t, s in threads.items() if s == busiest)
    before = {first: busiest}
    # Earlier CPU time does not count, and a new thread counts from its start.
    assert busiest_thread_s(before, threads) == sorted(threads.values())[-2]


def test_a_process_that_is_gone_used_nothing():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
        gone = child.pid
    assert thread_cpu_s(gone) == {} and process_cpu_s(gone) == 0.0
    assert busiest_thread_s({}, {}) == 0.0
