-- SPDX-License-Identifier: Apache-2.0
-- Every packet of one flow: the queue it met and the window its sender had.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms), capture, flow.
SELECT
    time,
    occupancy_bytes,
    (ifNull(egress_ns, ingress_ns) - ingress_ns) / 1000 AS queueing_us,
    cwnd_segments,
    ssthresh_segments,
    srtt_us,
    dropped,
    retransmitted
FROM postcards
WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND ifNull(queue, 0) = {queue:UInt32}
    AND unix_ns >= 1000000 * {from_ms:Int64} AND unix_ns < 1000000 * {to_ms:Int64}
    AND capture = {capture:String} AND flow_id = {flow:UInt64}
    AND join IN (1, 2)
ORDER BY time
