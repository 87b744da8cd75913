-- SPDX-License-Identifier: Apache-2.0
-- Changes of one queue of a port's limit: who wanted them, what was expected and measured.
-- Parameters: node, port, queue, from_ms, to_ms (Unix time, ms).
SELECT
    time,
    origin,
    outcome,
    action_before,
    limit_before_bytes,
    action,
    limit_bytes,
    -- For a port that marks: the limit above the threshold.
    if(JSONHas(record, 'limit', 'threshold_bytes'),
        JSONExtract(record, 'limit', 'limit_bytes', 'Nullable(UInt64)'), NULL) AS limit_above_bytes,
    before_utilisation,
    after_utilisation,
    before_loss_rate,
    expected_loss_rate,
    after_loss_rate,
    before_delay_p99_ms,
    after_delay_p99_ms,
    reason,
    error
FROM changes
WHERE node_id = {node:UInt32} AND egress_port = {port:UInt32} AND queue = {queue:UInt32}
    -- The announcement of a write; its outcome has its own row.
    AND outcome != 'intended'
    AND unix_ms >= {from_ms:UInt64} AND unix_ms < {to_ms:UInt64}
ORDER BY unix_ms, outcome
