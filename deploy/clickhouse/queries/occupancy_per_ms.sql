-- SPDX-License-Identifier: Apache-2.0
-- Queue occupancy of one queue of a port, per millisecond: what arriving packets met.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms).
SELECT
    time,
    occupancy_min_bytes,
    occupancy_mean_bytes,
    occupancy_max_bytes,
    limit_bytes,
    packets,
    drops
FROM queue_ms
WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND ifNull(queue, 0) = {queue:UInt32}
    AND time >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
    AND time < fromUnixTimestamp64Milli({to_ms:Int64}, 'UTC')
ORDER BY time
