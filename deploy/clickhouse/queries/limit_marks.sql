-- SPDX-License-Identifier: Apache-2.0
-- Changes of one queue of a port's limit as marks for graphs: a time and a text each.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms).
SELECT
    time,
    concat(
        origin, ', ', outcome, ': ',
        multiIf(
            limit_before_bytes IS NOT NULL, concat(toString(limit_before_bytes), ' bytes'),
            action_before = '', 'not known',
            action_before
        ), ' to ',
        ifNull(concat(toString(limit_bytes), ' bytes'), action)
    ) AS text
FROM changes
WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND queue = {queue:UInt32}
    -- The announcement of a write; its outcome has its own row.
    AND outcome != 'intended'
    AND unix_ms >= {from_ms:UInt64} AND unix_ms < {to_ms:UInt64}
ORDER BY unix_ms, outcome
