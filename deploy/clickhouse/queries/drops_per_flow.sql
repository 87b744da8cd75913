-- SPDX-License-Identifier: Apache-2.0
-- Packets, drops and retransmissions of every flow through one queue of a port.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms).
SELECT
    s.flow_id AS flow_id,
    any(f.src) AS src,
    any(f.src_port) AS src_port,
    any(f.dst) AS dst,
    any(f.dst_port) AS dst_port,
    sum(s.packets) AS packets,
    sum(s.drops) AS drops,
    drops / greatest(packets, 1) AS loss,
    sum(s.retransmitted_packets) AS retransmitted_packets
FROM flow_s AS s
LEFT JOIN flows AS f ON s.capture = f.capture AND s.flow_id = f.flow_id
WHERE s.node_id = {node:UInt32} AND s.egress_port = {port:UInt32} AND ifNull(s.queue, 0) = {queue:UInt32}
    AND s.time >= toDateTime(intDiv({from_ms:Int64}, 1000), 'UTC')
    AND s.time < toDateTime(intDiv({to_ms:Int64}, 1000), 'UTC')
GROUP BY s.capture, s.flow_id
ORDER BY drops DESC, packets DESC, flow_id
