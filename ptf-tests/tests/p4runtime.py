# SPDX-License-Identifier: GPL-2.0-only
"""The control plane, which must behave as in every P4Runtime switch."""

import grpc
from google.rpc import code_pb2
from p4.v1 import p4runtime_pb2

from tidemark_ptf import packets
from tidemark_ptf.base import FLOOD_GROUP, REPORT_SESSION, Tidemark
from tidemark_ptf.p4rt import DELETE, INSERT, MODIFY, Client, Refused


class WriteErrors(Tidemark):
    def refused(self, kind, entity, code):
        with self.assertRaises(Refused) as caught:
            self.client.write(kind, entity)
        self.assertEqual(caught.exception.codes, [code], str(caught.exception))

    def runTest(self):
        c = self.client
        forward = "Ingress.forward"
        l2 = "Ingress.l2_forward"
        key = {"hdr.ethernet.dst_addr": packets.mac_number(9)}
        port = {"port": 1}
        present = self.l2_entry(1, 1)
        absent = c.entry(l2, key, forward, port)
        ternary = c.entry("Ingress.watch", {}, "Ingress.report", {"sampling_shift": 0}, 1)
        no_priority = c.entry("Ingress.watch", {}, "Ingress.report", {"sampling_shift": 0}, 1)
        no_priority.table_entry.priority = 0
        useless_priority = c.entry(l2, key, forward, port, priority=5)
        wrong_action = c.entry(l2, key, "Ingress.ignore")
        no_params = c.entry(l2, key, forward)
        no_match = c.entry(l2, {}, forward, port)
        no_match.table_entry.is_default_action = False
        too_wide = c.entry(
            "Ingress.watch6", {"ipv6_dst": (1 << 128, 1 << 128)}, "Ingress.ignore", priority=1
        )
        bits_outside_the_mask = c.entry(
            "Ingress.watch6", {"ipv6_dst": (3, 1)}, "Ingress.ignore", priority=1
        )
        default = c.entry(l2, action="Ingress.flood")
        cases = {
            "insert twice": (INSERT, present, code_pb2.ALREADY_EXISTS),
            "modify missing": (MODIFY, absent, code_pb2.NOT_FOUND),
            "delete missing": (DELETE, absent, code_pb2.NOT_FOUND),
            "no priority": (INSERT, no_priority, code_pb2.INVALID_ARGUMENT),
            "useless priority": (INSERT, useless_priority, code_pb2.INVALID_ARGUMENT),
            "foreign action": (INSERT, wrong_action, code_pb2.INVALID_ARGUMENT),
            "no parameters": (INSERT, no_params, code_pb2.INVALID_ARGUMENT),
            "no match": (INSERT, no_match, code_pb2.INVALID_ARGUMENT),
            # By the specification; BMv2 calls it invalid.
            "value too wide": (
                INSERT,
                too_wide,
                code_pb2.INVALID_ARGUMENT if self.switch == "bmv2" else code_pb2.OUT_OF_RANGE,
            ),
            "bits outside the mask": (
                INSERT,
                bits_outside_the_mask,
                code_pb2.INVALID_ARGUMENT,
            ),
            "default inserted": (INSERT, default, code_pb2.INVALID_ARGUMENT),
            "default deleted": (DELETE, default, code_pb2.INVALID_ARGUMENT),
            "session 0": (INSERT, c.clone_session(0, 1), code_pb2.INVALID_ARGUMENT),
            "session missing": (DELETE, c.clone_session(77), code_pb2.NOT_FOUND),
            "group missing": (DELETE, c.multicast_group(77, []), code_pb2.NOT_FOUND),
        }
        for name, (kind, entity, code) in cases.items():
            with self.subTest(name):
                self.refused(kind, entity, code)
        # A refused write changes nothing.
        found = c.read(
            p4runtime_pb2.Entity(table_entry={"table_id": self.info.table(l2).preamble.id})
        )
        self.assertEqual(len(found), 4)
        c.write(INSERT, ternary)
        self.refused(INSERT, ternary, code_pb2.ALREADY_EXISTS)


class BatchSaysWhichFailed(Tidemark):
    def runTest(self):
        new = self.l2_entry(9, 1)
        request = self.client.write_request(
            (INSERT, new), (INSERT, new), (DELETE, self.l2_entry(10, 1)), (DELETE, new)
        )
        with self.assertRaises(Refused) as caught:
            self.client.send(request)
        self.assertEqual(
            caught.exception.codes,
            [code_pb2.OK, code_pb2.ALREADY_EXISTS, code_pb2.NOT_FOUND, code_pb2.OK],
        )


class WhatIsWrittenIsRead(Tidemark):
    def runTest(self):
        c = self.client
        self.limit(2, "drop_tail", 70000)
        watch = self.watch({"src_port": (0x1200, 0xFF00), "egress_port": 3}, shift=4, priority=7)
        table = self.info.table("Ingress.queue_limit").preamble.id
        (found,) = c.read(p4runtime_pb2.Entity(table_entry={"table_id": table}))
        written = c.entry(
            "Ingress.queue_limit", {"egress_port": 2}, "Ingress.drop_tail", {"limit_bytes": 70000}
        )
        self.assertEqual(found, written, "canonical form")
        (found,) = c.read(watch)
        self.assertEqual(found, watch)
        # Values wider than 64 bits.
        wide = self.watch6({"ipv6_src": (0x20010DB8 << 96, 0xFFFFFFFF << 96), "ipv6_dst": 1})
        (found,) = c.read(wide)
        self.assertEqual(found, wide)
        (group,) = c.read(c.multicast_group(FLOOD_GROUP, []))
        replicas = group.packet_replication_engine_entry.multicast_group_entry.replicas
        self.assertEqual(sorted(r.instance for r in replicas), [1, 2, 3, 4])
        (session,) = c.read(c.clone_session(REPORT_SESSION))
        entry = session.packet_replication_engine_entry.clone_session_entry
        self.assertEqual(len(entry.replicas), 1)


class DefaultEntry(Tidemark):
    def runTest(self):
        c = self.client

        def action():
            (found,) = c.read(c.entry("Ingress.queue_limit"))
            self.assertTrue(found.table_entry.is_default_action)
            return found.table_entry.action.action

        unlimited = self.info.action("Ingress.unlimited").preamble.id
        self.assertEqual(action().action_id, unlimited)
        changed = c.entry(
            "Ingress.queue_limit", action="Ingress.drop_tail", params={"limit_bytes": 0}
        )
        c.write(MODIFY, changed)
        self.assertEqual(action(), changed.table_entry.action.action)
        self.send(1, packets.tcp(1, 2))
        self.assert_silence([2])
        c.write(MODIFY, c.entry("Ingress.queue_limit"))
        self.assertEqual(action().action_id, unlimited)
        packet = packets.tcp(1, 2)
        self.send(1, packet)
        self.assert_frame(2, packet)


class BackupMayNotWrite(Tidemark):
    def runTest(self):
        backup = Client(self.address, self.device_id, self.info, election_id=0)
        try:
            self.assertEqual(backup.arbitration(), code_pb2.ALREADY_EXISTS)
            with self.assertRaises(grpc.RpcError) as caught:
                backup.write(INSERT, self.l2_entry(9, 1))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
            # A backup may read.
            table = self.info.table("Ingress.l2_forward").preamble.id
            found = backup.read(p4runtime_pb2.Entity(table_entry={"table_id": table}))
            self.assertEqual(len(found), 4)
        finally:
            backup.close()


class ProgramIsReadBack(Tidemark):
    def runTest(self):
        request = p4runtime_pb2.GetForwardingPipelineConfigRequest(device_id=self.device_id)
        config = self.client.stub.GetForwardingPipelineConfig(request, timeout=10).config
        self.assertEqual(config.p4info, self.info.message)


class NewProgramStartsEmpty(Tidemark):
    def runTest(self):
        self.client.push(self.program)
        table = self.info.table("Ingress.l2_forward").preamble.id
        found = self.client.read(p4runtime_pb2.Entity(table_entry={"table_id": table}))
        self.assertEqual(len(found), 0)
        self.set_forwarding()


class UnknownDevice(Tidemark):
    def runTest(self):
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id + 1)
        request.entities.add().table_entry.table_id = 0
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.client.stub.Read(request, timeout=10))
        # Without a program, BMv2 accepts any device id.
        bmv2 = self.switch == "bmv2"
        expected = grpc.StatusCode.FAILED_PRECONDITION if bmv2 else grpc.StatusCode.NOT_FOUND
        self.assertEqual(caught.exception.code(), expected)
