-- SPDX-License-Identifier: Apache-2.0
-- Loss events of one queue of a port: drops with less than gap_ms between one and the next
-- count as one event (BSCL section IV: flows hit by it back off together).
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms), gap_ms.
SELECT
    min(at) AS begin,
    (max(unix_ns) - min(unix_ns)) / 1e6 AS duration_ms,
    count() AS drops,
    uniqExact(flow_id) AS flows_hit,
    max(occupancy_bytes) AS occupancy_max_bytes
FROM
(
    SELECT
        at,
        unix_ns,
        flow_id,
        occupancy_bytes,
        sum(starts) OVER (ORDER BY unix_ns, order ROWS UNBOUNDED PRECEDING) AS event
    FROM
    (
        SELECT
            time AS at,
            unix_ns,
            order,
            flow_id,
            occupancy_bytes,
            unix_ns - lagInFrame(unix_ns, 1, unix_ns) OVER
                (ORDER BY unix_ns, order ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
                > 1000000 * {gap_ms:Int64} AS starts
        FROM postcards
        WHERE dropped AND node_id = {node:UInt32} AND egress_port = {port:UInt32} AND ifNull(queue, 0) = {queue:UInt32}
            AND unix_ns >= 1000000 * {from_ms:Int64} AND unix_ns < 1000000 * {to_ms:Int64}
    )
)
GROUP BY event
ORDER BY begin
