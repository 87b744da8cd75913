-- SPDX-License-Identifier: Apache-2.0
-- Rate of the largest flows through one queue of a port, per second.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms), flows.
WITH largest AS
(
    SELECT capture, flow_id
    FROM flow_s
    WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND ifNull(queue, 0) = {queue:UInt32}
        AND time >= toDateTime(intDiv({from_ms:Int64}, 1000), 'UTC')
        AND time < toDateTime(intDiv({to_ms:Int64}, 1000), 'UTC')
    GROUP BY capture, flow_id
    ORDER BY sum(ip_bytes) DESC, flow_id
    LIMIT {flows:UInt32}
)
SELECT
    s.time AS time,
    concat(f.src, ':', toString(f.src_port), ' > ', f.dst, ':', toString(f.dst_port)) AS flow,
    8 * s.ip_bytes AS rate_bps,
    8 * s.payload_bytes AS goodput_bps,
    s.cwnd_mean_segments AS cwnd_mean_segments,
    s.srtt_mean_us AS srtt_mean_us
FROM flow_s AS s
INNER JOIN largest AS l ON s.capture = l.capture AND s.flow_id = l.flow_id
LEFT JOIN flows AS f ON s.capture = f.capture AND s.flow_id = f.flow_id
WHERE s.node_id = {node:UInt32} AND s.egress_port = {port:UInt32} AND ifNull(s.queue, 0) = {queue:UInt32}
    AND s.time >= toDateTime(intDiv({from_ms:Int64}, 1000), 'UTC')
    AND s.time < toDateTime(intDiv({to_ms:Int64}, 1000), 'UTC')
ORDER BY time, flow
