# SPDX-License-Identifier: Apache-2.0
"""BMv2's own command line against the switch under BMv2's name: compares with recorded
answers of the real one to the same commands, and runs a commands file like the tutorials'."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import BUILD, ENTITIES, REPOSITORY, free_port

RECORDED = REPOSITORY.parent / "shared" / "data" / "bmv2"
CLI = Path(sys.executable).parent / "simple_switch_CLI"
BANNERS = ("Obtaining JSON", "Done", "Control utility for runtime")


@contextmanager
def simple_switch(folder: Path, *arguments: str):
    """Starts the switch under BMv2's name; yields the Thrift port."""
    binaries = Path(os.environ.get("TIDEMARK_BIN_DIR", REPOSITORY / "target" / "release"))
    link = folder / "simple_switch"
    link.unlink(missing_ok=True)
    link.symlink_to(binaries / "tidemark-switch")
    port = free_port()
    command = [str(link), *arguments, "--thrift-port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("ready"):
                break
        else:
            pytest.fail("".join(said))
        yield port
    finally:
        process.terminate()
        process.wait(10)


def command(port: int, text: str) -> str:
    """Returns the answer to one command, without banners."""
    done = subprocess.run(
        [str(CLI), "--thrift-port", str(port)],
        input=text + "\n",
        capture_output=True,
        text=True,
        timeout=30,
    )
    lines = [x for x in done.stdout.splitlines() if not x.startswith(BANNERS)]
    answer = "\n".join(lines).replace("RuntimeCmd: ", "").strip("\n")
    if done.returncode:
        answer += f"(the client raises: {done.stderr.strip().splitlines()[-1]})"
    return answer


# Tables and actions added to Tidemark's program since the recording.
SINCE = (
    r"Ingress\.(queue_of|queue_count|priority_queue_limit|take_queue|set_queue_count)\b|NoAction\b"
)


def lines(text: str) -> list[str]:
    """Drops text that differs from run to run, and numbers that p4c derives from source lines."""
    varies = re.compile(rf"thrift_port|tbl_|(In|E)gressPipeline|ingress\d|egress\d|{SINCE}")
    kept = [x.rstrip() for x in text.splitlines() if not varies.match(x)]
    # p4c also numbers metadata fields.
    return [re.sub(r"(metadata_t\.\w*?)\d+\b", r"\1", x) for x in kept]


@pytest.mark.parametrize("name", ["tidemark", "flowlet_switching", "issue364", "named_meter_1"])
def test_answers_as_bmv2_did(tmp_path, name):
    recorded = RECORDED / "cli" / f"{name}.txt"
    if not recorded.is_file():
        missing = f"no {recorded}: no recordings"
        if os.environ.get("TIDEMARK_SHARED_DATA") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    if name == "tidemark":
        program = BUILD / "tidemark.json"
    else:
        with tarfile.open(RECORDED / "golden.tar.xz") as archive:
            member = next(m for m in archive if m.name.endswith(f"programs/{name}-bmv2.json"))
            archive.extract(member, tmp_path, filter="data")
            program = tmp_path / member.name
    commands = recorded.with_suffix(".commands").read_text().splitlines()
    said = []
    with simple_switch(tmp_path, str(program)) as port:
        for text in commands:
            said.append("> " + text)
            # Since then the register has had a cell for each of eight queues.
            asked = text.replace("occupancy_bytes 512", "occupancy_bytes 4096")
            said += filter(None, command(port, asked).splitlines())
    assert lines("\n".join(said)) == lines(recorded.read_text())


def test_every_kind_of_object(tmp_path):
    with simple_switch(tmp_path, str(ENTITIES / "entities.json")) as port:

        def say(text: str) -> str:
            return command(port, text)

        tables = say("show_tables")
        assert "Switch.police" in tables, tables
        assert "has been updated" in say("counter_write Switch.received 3 7 700")
        assert "7 packets" in say("counter_read received 3")
        assert say("counter_reset received") == ""
        assert "0 packets" in say("counter_read received 3")
        # The client passes on the short name, which identifies nothing.
        assert "INVALID_COUNTER_NAME" in say("counter_write received 3 7 700")
        assert say("meter_set_rates rate 2 0.0005:9 0.001:10") == ""
        assert "burst size = 10" in say("meter_get_rates rate 2")
        assert "INVALID_INFO_RATE" in say("meter_set_rates rate 2 0.001:9 0.0005:9")
        assert say("register_write seen 4 305419896") == ""
        assert say("register_read seen 4").endswith("seen[4]= 305419896")
        cells = say("register_read seen").split("=")[1].split(",")
        assert len(cells) == 16 and int(cells[4]) == 305419896
        assert "INVALID_INDEX" in say("register_read seen 16")


def test_a_commands_file_at_the_start_and_piped(tmp_path):
    text = (
        "# routes\n"
        "table_set_default l2_forward flood\n"
        "table_add l2_forward forward 00:00:00:00:00:01 => 1\n"
        "mirroring_add 100 5\n"
        "mc_mgrp_create 1\nmc_node_create 0 1 2 3\nmc_node_associate 1 0\n"
        "register_write occupancy_bytes 3 77\n"
        "set_queue_rate 1000\nset_queue_depth 50 2\n"
    )
    commands = tmp_path / "s1-commands.txt"
    commands.write_text(text)
    program = str(BUILD / "tidemark.json")
    with simple_switch(tmp_path, program) as port:
        piped = command(port, text)
        assert "Entry has been added with handle 0" in piped, piped
        assert "node was created with handle 0" in piped, piped
        piped_dump = command(port, "table_dump Ingress.l2_forward")
    with simple_switch(tmp_path, program, "--entries", str(commands)) as port:
        assert command(port, "table_dump Ingress.l2_forward") == piped_dump
        assert "port=5" in command(port, "mirroring_get 100")
        assert "ports=[1, 2, 3]" in command(port, "mc_dump")
        assert command(port, "register_read occupancy_bytes 3").endswith("= 77")
    commands.write_text("table_add l2_forward nothing 1 => 2\n")
    start = simple_switch(tmp_path, program, "--entries", str(commands))
    with pytest.raises(pytest.fail.Exception, match="line 1: table_add"), start:
        pass


@pytest.mark.parametrize("with_p4info", [True, False])
def test_a_tutorials_runtime_json_at_the_start(tmp_path, with_p4info):
    for file in ["tidemark.json"] + ["tidemark.p4info.txtpb"] * with_p4info:
        shutil.copy(BUILD / file, tmp_path)
    entry = {
        "table": "Ingress.l2_forward",
        "match": {"hdr.ethernet.dst_addr": "00:00:00:00:00:07"},
        "action_name": "Ingress.forward",
        "action_params": {"port": 3},
    }
    replicas = [{"egress_port": port, "instance": 1} for port in (0, 2)]
    group = {"multicast_group_id": 1, "replicas": replicas}
    runtime = tmp_path / "s1-runtime.json"
    runtime.write_text(json.dumps({"table_entries": [entry], "multicast_group_entries": [group]}))
    program = str(tmp_path / "tidemark.json")
    with simple_switch(tmp_path, program, "--entries", str(runtime)) as port:
        dump = command(port, "table_dump Ingress.l2_forward")
        assert "EXACT     000000000007" in dump and "Ingress.forward - 03" in dump
        # Groups written through P4Runtime get nodes; port 0 is a port like any other.
        assert "(L1h=0, rid=1) -> (ports=[0, 2], lags=[])" in command(port, "mc_dump")


def test_another_program(tmp_path):
    """Loads a program, swaps it, and queries it."""
    with simple_switch(tmp_path, str(ENTITIES / "entities.json")) as port:
        assert "NO_ONGOING_SWAP" in command(port, "swap_configs")
        answer = command(port, f"load_new_config_file {BUILD / 'tidemark.json'}")
        assert "Error" not in answer, answer
        assert "l2_forward" in command(port, "show_tables")
        command(port, "table_add l2_forward forward 00:00:00:00:00:01 => 1")
        assert command(port, "swap_configs") == "Swapping configs"
        assert command(port, "table_num_entries l2_forward") == "1"
        elapsed = int(command(port, "get_time_elapsed"))
        time.sleep(0.01)
        assert int(command(port, "get_time_elapsed")) >= elapsed + 10_000
