-- SPDX-License-Identifier: Apache-2.0
-- Utilisation of one queue of a port, per second. The first and last second of a run are
-- cut, so they show less.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms), capacity_bps.
SELECT
    time,
    8 * wire_bytes / {capacity_bps:Float64} AS utilisation,
    packets,
    drops,
    drops / greatest(packets, 1) AS loss,
    occupancy_mean_bytes
FROM queue_s
WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND ifNull(queue, 0) = {queue:UInt32}
    AND time >= toDateTime(intDiv({from_ms:Int64}, 1000), 'UTC')
    AND time < toDateTime(intDiv({to_ms:Int64}, 1000), 'UTC')
ORDER BY time
