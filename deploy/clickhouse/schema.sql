-- SPDX-License-Identifier: Apache-2.0
-- Tidemark's tables on one ClickHouse server (25.3 or newer).
--
--   clickhouse-client --database tidemark --multiquery < schema.sql
--
-- The collector applies this file itself with `clickhouse.create_schema = true`.
-- docs/how-to/clickhouse.md describes every table; cluster.sql is the variant for many
-- servers. Columns of captures and of limit_changes come from contract/columns.toml.
--
-- In addition to the columns of a capture, every row has
--   capture              the collector's start, or the imported capture
--   batch                `order` of the first row that was inserted with it
--   stored_on            day of the insertion: partitions and their lifetime
--   unix_minus_node_ns   puts the node's clock on the time of day
-- All rows of a batch have the same stored_on, so that an insert makes one part
-- and is atomic.
--
-- Apply it again after an upgrade: tables of an earlier version get their missing
-- columns (ALTER), rollups and views get the current queries, and rows are kept.

CREATE TABLE IF NOT EXISTS postcards
(
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    unix_minus_node_ns Int64 CODEC(Delta, ZSTD(3)),
-- <begin generated: columns of postcards>
    order UInt64 CODEC(DoubleDelta, ZSTD(3)),
    rx_ns UInt64 CODEC(Delta, ZSTD(3)),
    node_id UInt32 CODEC(ZSTD(3)),
    hw_id UInt8 CODEC(ZSTD(3)),
    report_sequence UInt32 CODEC(DoubleDelta, ZSTD(3)),
    flow_id Nullable(UInt64) CODEC(ZSTD(3)),
    ingress_port Nullable(UInt32) CODEC(ZSTD(3)),
    egress_port Nullable(UInt32) CODEC(ZSTD(3)),
    queue Nullable(UInt8) CODEC(ZSTD(3)),
    ingress_ns Nullable(UInt64) CODEC(Delta, T64, ZSTD(3)),
    egress_ns Nullable(UInt64) CODEC(Delta, ZSTD(3)),
    occupancy_bytes Nullable(UInt64) CODEC(Delta, ZSTD(3)),
    limit_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    ip_bytes Nullable(UInt32) CODEC(ZSTD(3)),
    wire_overhead_bytes UInt32 CODEC(ZSTD(3)),
    payload_bytes Nullable(UInt32) CODEC(ZSTD(3)),
    tcp_seq Nullable(UInt32) CODEC(Delta, ZSTD(3)),
    tcp_ack Nullable(UInt32) CODEC(ZSTD(3)),
    tcp_flags Nullable(UInt8) CODEC(ZSTD(3)),
    ecn Nullable(UInt8) CODEC(ZSTD(3)),
    ce_marked Bool CODEC(ZSTD(3)),
    dropped Bool CODEC(ZSTD(3)),
    from_stack Bool CODEC(ZSTD(3)),
    drop_reason Nullable(UInt8) CODEC(ZSTD(3)),
    sampling_shift UInt8 CODEC(ZSTD(3)),
    out_of_sample Bool CODEC(ZSTD(3)),
    retransmitted Bool CODEC(ZSTD(3)),
    feedback_rtt_us Nullable(UInt32) CODEC(ZSTD(3)),
    lost_before Int32 CODEC(ZSTD(3)),
    join UInt8 CODEC(ZSTD(3)),
    cwnd_segments Nullable(UInt32) CODEC(ZSTD(3)),
    ssthresh_segments Nullable(UInt32) CODEC(ZSTD(3)),
    srtt_us Nullable(UInt32) CODEC(ZSTD(3)),
-- <end generated: columns of postcards>
    node_ns UInt64 ALIAS ifNull(egress_ns, ifNull(ingress_ns, 0)),
    unix_ns Int64 ALIAS toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns,
    time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 'UTC'),
    INDEX batch_index batch TYPE minmax GRANULARITY 4
)
ENGINE = MergeTree
PARTITION BY stored_on
ORDER BY (node_id, egress_port, toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns)
TTL stored_on + INTERVAL 30 DAY DELETE
SETTINGS allow_nullable_key = 1, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- Rows stored before the column existed are read as the node's own reports.
ALTER TABLE postcards ADD COLUMN IF NOT EXISTS from_stack Bool CODEC(ZSTD(3)) AFTER dropped;

CREATE TABLE IF NOT EXISTS tcp_probe
(
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    unix_minus_node_ns Int64 CODEC(Delta, ZSTD(3)),
-- <begin generated: columns of tcp_probe>
    order UInt64 CODEC(Delta, ZSTD(3)),
    host LowCardinality(String) CODEC(ZSTD(3)),
    host_ns UInt64 CODEC(Delta, ZSTD(3)),
    node_id UInt32 CODEC(ZSTD(3)),
    egress_port UInt32 CODEC(ZSTD(3)),
    queue UInt8 CODEC(ZSTD(3)),
    time_ns UInt64 CODEC(Delta, ZSTD(3)),
    flow_id UInt64 CODEC(ZSTD(3)),
    data_len_bytes UInt16 CODEC(ZSTD(3)),
    snd_nxt UInt32 CODEC(Delta, ZSTD(3)),
    snd_una UInt32 CODEC(Delta, ZSTD(3)),
    cwnd_segments UInt32 CODEC(ZSTD(3)),
    ssthresh_segments UInt32 CODEC(ZSTD(3)),
    snd_wnd_bytes UInt32 CODEC(ZSTD(3)),
    rcv_wnd_bytes UInt32 CODEC(ZSTD(3)),
    srtt_us UInt32 CODEC(ZSTD(3)),
    base_rtt_us UInt32 CODEC(ZSTD(3)),
    acked_bytes UInt32 CODEC(ZSTD(3)),
-- <end generated: columns of tcp_probe>
    unix_ns Int64 ALIAS toInt64(time_ns) + unix_minus_node_ns,
    time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(toInt64(time_ns) + unix_minus_node_ns, 'UTC'),
    INDEX batch_index batch TYPE minmax GRANULARITY 4
)
ENGINE = MergeTree
PARTITION BY stored_on
ORDER BY (node_id, egress_port, flow_id, toInt64(time_ns) + unix_minus_node_ns)
TTL stored_on + INTERVAL 30 DAY DELETE
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

ALTER TABLE tcp_probe ADD COLUMN IF NOT EXISTS queue UInt8 CODEC(ZSTD(3)) AFTER egress_port;

CREATE TABLE IF NOT EXISTS events
(
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    unix_minus_node_ns Int64 CODEC(ZSTD(3)),
-- <begin generated: columns of events>
    order UInt64 CODEC(Delta, ZSTD(3)),
    kind LowCardinality(String) CODEC(ZSTD(3)),
    node_id Nullable(UInt32) CODEC(ZSTD(3)),
    time_ns Nullable(UInt64) CODEC(Delta, ZSTD(3)),
    flow_id Nullable(UInt64) CODEC(ZSTD(3)),
    host LowCardinality(String) CODEC(ZSTD(3)),
    host_index Nullable(UInt16) CODEC(ZSTD(3)),
    host_ns Nullable(UInt64) CODEC(Delta, ZSTD(3)),
    congestion_state Nullable(UInt8) CODEC(ZSTD(3)),
    src String CODEC(ZSTD(3)),
    dst String CODEC(ZSTD(3)),
    src_port Nullable(UInt16) CODEC(ZSTD(3)),
    dst_port Nullable(UInt16) CODEC(ZSTD(3)),
    protocol Nullable(UInt8) CODEC(ZSTD(3)),
    probed Nullable(Bool) CODEC(ZSTD(3)),
    handshake_rtt_ns Nullable(UInt64) CODEC(ZSTD(3)),
    mss_bytes Nullable(UInt32) CODEC(ZSTD(3)),
    clock_offset_ns Nullable(Int64) CODEC(ZSTD(3)),
    clock_drift_ppb Nullable(Float64) CODEC(ZSTD(3)),
    clock_reference_ns Nullable(UInt64) CODEC(ZSTD(3)),
    clock_matched_pairs Nullable(UInt64) CODEC(ZSTD(3)),
    unix_ns_at_reference Nullable(Int64) CODEC(ZSTD(3)),
-- <end generated: columns of events>
    time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(toInt64(ifNull(time_ns, 0)) + unix_minus_node_ns, 'UTC'),
    INDEX batch_index batch TYPE minmax GRANULARITY 4
)
ENGINE = MergeTree
PARTITION BY stored_on
ORDER BY (kind, capture, order)
TTL stored_on + INTERVAL 90 DAY DELETE
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

-- Rollups. Their keys include the batch, so that a batch inserted again replaces
-- its own rows; queries sum over batches (FINAL, see the views below).
-- `drops` is null if the node sends no reports of its own: a dropped packet's
-- metadata reaches no sink.

CREATE TABLE IF NOT EXISTS queue_1ms
(
    node_id UInt32 CODEC(ZSTD(3)),
    egress_port Nullable(UInt32) CODEC(ZSTD(3)),
    queue Nullable(UInt8) CODEC(ZSTD(3)),
    time DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(3)),
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    packets UInt64 CODEC(T64, ZSTD(3)),
    wire_bytes UInt64 CODEC(T64, ZSTD(3)),
    drops Nullable(UInt64) CODEC(T64, ZSTD(3)),
    ce_marks UInt64 CODEC(T64, ZSTD(3)),
    reports_lost Int64 CODEC(T64, ZSTD(3)),
    occupancy_sum_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    occupancy_min_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    occupancy_max_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    limit_bytes Nullable(UInt64) CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree
PARTITION BY stored_on
ORDER BY (node_id, egress_port, queue, time, capture, batch)
TTL stored_on + INTERVAL 30 DAY DELETE
SETTINGS allow_nullable_key = 1, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

ALTER TABLE queue_1ms MODIFY COLUMN drops Nullable(UInt64) CODEC(T64, ZSTD(3));

CREATE MATERIALIZED VIEW IF NOT EXISTS queue_1ms_mv TO queue_1ms AS
SELECT
    node_id,
    egress_port,
    queue,
    toDateTime64(fromUnixTimestamp64Milli(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000), 'UTC'), 3, 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes + wire_overhead_bytes, 0)), sampling_shift))) AS wire_bytes,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    sum(lost_before) AS reports_lost,
    sum(bitShiftLeft(occupancy_bytes, if(dropped, 0, sampling_shift))) AS occupancy_sum_bytes,
    min(occupancy_bytes) AS occupancy_min_bytes,
    max(occupancy_bytes) AS occupancy_max_bytes,
    max(postcards.limit_bytes) AS limit_bytes
FROM postcards
GROUP BY node_id, egress_port, queue, time, capture, batch, stored_on;

-- <begin generated: query of queue_1ms_mv>
ALTER TABLE queue_1ms_mv MODIFY QUERY
SELECT
    node_id,
    egress_port,
    queue,
    toDateTime64(fromUnixTimestamp64Milli(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000), 'UTC'), 3, 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes + wire_overhead_bytes, 0)), sampling_shift))) AS wire_bytes,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    sum(lost_before) AS reports_lost,
    sum(bitShiftLeft(occupancy_bytes, if(dropped, 0, sampling_shift))) AS occupancy_sum_bytes,
    min(occupancy_bytes) AS occupancy_min_bytes,
    max(occupancy_bytes) AS occupancy_max_bytes,
    max(postcards.limit_bytes) AS limit_bytes
FROM postcards
GROUP BY node_id, egress_port, queue, time, capture, batch, stored_on;
-- <end generated: query of queue_1ms_mv>

CREATE TABLE IF NOT EXISTS queue_1s
(
    node_id UInt32 CODEC(ZSTD(3)),
    egress_port Nullable(UInt32) CODEC(ZSTD(3)),
    queue Nullable(UInt8) CODEC(ZSTD(3)),
    time DateTime('UTC') CODEC(DoubleDelta, ZSTD(3)),
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    packets UInt64 CODEC(T64, ZSTD(3)),
    wire_bytes UInt64 CODEC(T64, ZSTD(3)),
    drops Nullable(UInt64) CODEC(T64, ZSTD(3)),
    ce_marks UInt64 CODEC(T64, ZSTD(3)),
    reports_lost Int64 CODEC(T64, ZSTD(3)),
    occupancy_sum_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    occupancy_min_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    occupancy_max_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    limit_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    data_packets UInt64 CODEC(T64, ZSTD(3)),
    joined_packets UInt64 CODEC(T64, ZSTD(3))
)
ENGINE = ReplacingMergeTree
PARTITION BY stored_on
ORDER BY (node_id, egress_port, queue, time, capture, batch)
TTL stored_on + INTERVAL 1 YEAR DELETE
SETTINGS allow_nullable_key = 1, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

ALTER TABLE queue_1s MODIFY COLUMN drops Nullable(UInt64) CODEC(T64, ZSTD(3));

CREATE MATERIALIZED VIEW IF NOT EXISTS queue_1s_mv TO queue_1s AS
SELECT
    node_id,
    egress_port,
    queue,
    toDateTime(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000000), 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes + wire_overhead_bytes, 0)), sampling_shift))) AS wire_bytes,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    sum(lost_before) AS reports_lost,
    sum(bitShiftLeft(occupancy_bytes, if(dropped, 0, sampling_shift))) AS occupancy_sum_bytes,
    min(occupancy_bytes) AS occupancy_min_bytes,
    max(occupancy_bytes) AS occupancy_max_bytes,
    max(postcards.limit_bytes) AS limit_bytes,
    countIf(join > 0) AS data_packets,
    countIf(join IN (1, 2)) AS joined_packets
FROM postcards
GROUP BY node_id, egress_port, queue, time, capture, batch, stored_on;

-- <begin generated: query of queue_1s_mv>
ALTER TABLE queue_1s_mv MODIFY QUERY
SELECT
    node_id,
    egress_port,
    queue,
    toDateTime(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000000), 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes + wire_overhead_bytes, 0)), sampling_shift))) AS wire_bytes,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    sum(lost_before) AS reports_lost,
    sum(bitShiftLeft(occupancy_bytes, if(dropped, 0, sampling_shift))) AS occupancy_sum_bytes,
    min(occupancy_bytes) AS occupancy_min_bytes,
    max(occupancy_bytes) AS occupancy_max_bytes,
    max(postcards.limit_bytes) AS limit_bytes,
    countIf(join > 0) AS data_packets,
    countIf(join IN (1, 2)) AS joined_packets
FROM postcards
GROUP BY node_id, egress_port, queue, time, capture, batch, stored_on;
-- <end generated: query of queue_1s_mv>

CREATE TABLE IF NOT EXISTS flow_1s
(
    node_id UInt32 CODEC(ZSTD(3)),
    egress_port Nullable(UInt32) CODEC(ZSTD(3)),
    queue Nullable(UInt8) CODEC(ZSTD(3)),
    flow_id Nullable(UInt64) CODEC(ZSTD(3)),
    time DateTime('UTC') CODEC(DoubleDelta, ZSTD(3)),
    capture LowCardinality(String) CODEC(ZSTD(3)),
    batch UInt64 CODEC(ZSTD(3)),
    stored_on Date CODEC(ZSTD(3)),
    packets UInt64 CODEC(T64, ZSTD(3)),
    ip_bytes_sum UInt64 CODEC(T64, ZSTD(3)),
    payload_bytes_sum UInt64 CODEC(T64, ZSTD(3)),
    drops Nullable(UInt64) CODEC(T64, ZSTD(3)),
    ce_marks UInt64 CODEC(T64, ZSTD(3)),
    retransmitted_packets UInt64 CODEC(T64, ZSTD(3)),
    joined_packets UInt64 CODEC(T64, ZSTD(3)),
    cwnd_sum_segments UInt64 CODEC(ZSTD(3)),
    srtt_sum_us UInt64 CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree
PARTITION BY stored_on
PRIMARY KEY (node_id, egress_port, flow_id, time, capture, batch)
ORDER BY (node_id, egress_port, flow_id, time, capture, batch, queue)
TTL stored_on + INTERVAL 1 YEAR DELETE
SETTINGS allow_nullable_key = 1, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;

ALTER TABLE flow_1s
    ADD COLUMN IF NOT EXISTS queue Nullable(UInt8) CODEC(ZSTD(3)) AFTER egress_port,
    MODIFY ORDER BY (node_id, egress_port, flow_id, time, capture, batch, queue);

ALTER TABLE flow_1s MODIFY COLUMN drops Nullable(UInt64) CODEC(T64, ZSTD(3));

CREATE MATERIALIZED VIEW IF NOT EXISTS flow_1s_mv TO flow_1s AS
SELECT
    node_id,
    egress_port,
    queue,
    flow_id,
    toDateTime(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000000), 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes, 0)), sampling_shift))) AS ip_bytes_sum,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(payload_bytes, 0)), sampling_shift))) AS payload_bytes_sum,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    countIf(retransmitted) AS retransmitted_packets,
    countIf(join IN (1, 2)) AS joined_packets,
    sum(toUInt64(ifNull(cwnd_segments, 0))) AS cwnd_sum_segments,
    sum(toUInt64(ifNull(srtt_us, 0))) AS srtt_sum_us
FROM postcards
GROUP BY node_id, egress_port, queue, flow_id, time, capture, batch, stored_on;

-- <begin generated: query of flow_1s_mv>
ALTER TABLE flow_1s_mv MODIFY QUERY
SELECT
    node_id,
    egress_port,
    queue,
    flow_id,
    toDateTime(intDiv(toInt64(ifNull(egress_ns, ifNull(ingress_ns, 0))) + unix_minus_node_ns, 1000000000), 'UTC') AS time,
    capture,
    batch,
    stored_on,
    sum(bitShiftLeft(toUInt64(1), if(dropped, 0, sampling_shift))) AS packets,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(ip_bytes, 0)), sampling_shift))) AS ip_bytes_sum,
    sum(if(dropped, 0, bitShiftLeft(toUInt64(ifNull(payload_bytes, 0)), sampling_shift))) AS payload_bytes_sum,
    if(countIf(NOT from_stack OR dropped) > 0, countIf(dropped), NULL) AS drops,
    countIf(ce_marked) AS ce_marks,
    countIf(retransmitted) AS retransmitted_packets,
    countIf(join IN (1, 2)) AS joined_packets,
    sum(toUInt64(ifNull(cwnd_segments, 0))) AS cwnd_sum_segments,
    sum(toUInt64(ifNull(srtt_us, 0))) AS srtt_sum_us
FROM postcards
GROUP BY node_id, egress_port, queue, flow_id, time, capture, batch, stored_on;
-- <end generated: query of flow_1s_mv>

-- The controller's audit log: every change of a limit, wanted or made. A record
-- sent twice is one row (read it as `changes`). Limit columns have the bound that
-- acts first: for mark_ce the threshold; `record` has the limit above it.

CREATE TABLE IF NOT EXISTS limit_changes
(
-- <begin generated: columns of limit_changes>
    controller LowCardinality(String) CODEC(ZSTD(3)),
    unix_ms UInt64 CODEC(Delta, ZSTD(3)),
    node_id UInt32 CODEC(ZSTD(3)),
    egress_port UInt32 CODEC(ZSTD(3)),
    queue UInt32 CODEC(ZSTD(3)),
    origin LowCardinality(String) CODEC(ZSTD(3)),
    outcome LowCardinality(String) CODEC(ZSTD(3)),
    action_before LowCardinality(String) CODEC(ZSTD(3)),
    limit_before_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    action LowCardinality(String) CODEC(ZSTD(3)),
    limit_bytes Nullable(UInt64) CODEC(ZSTD(3)),
    reason String CODEC(ZSTD(3)),
    error String CODEC(ZSTD(3)),
    expected_utilisation Nullable(Float64) CODEC(ZSTD(3)),
    expected_loss_rate Nullable(Float64) CODEC(ZSTD(3)),
    expected_delay_ms Nullable(Float64) CODEC(ZSTD(3)),
    before_utilisation Nullable(Float64) CODEC(ZSTD(3)),
    before_loss_rate Nullable(Float64) CODEC(ZSTD(3)),
    before_delay_p99_ms Nullable(Float64) CODEC(ZSTD(3)),
    after_utilisation Nullable(Float64) CODEC(ZSTD(3)),
    after_loss_rate Nullable(Float64) CODEC(ZSTD(3)),
    after_delay_p99_ms Nullable(Float64) CODEC(ZSTD(3)),
    record String CODEC(ZSTD(3)),
-- <end generated: columns of limit_changes>
    record_id UInt64 MATERIALIZED cityHash64(record) CODEC(ZSTD(3)),
    time DateTime64(3, 'UTC') ALIAS fromUnixTimestamp64Milli(toInt64(unix_ms), 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (node_id, egress_port, unix_ms, controller, record_id);

ALTER TABLE limit_changes ADD COLUMN IF NOT EXISTS queue UInt32 CODEC(ZSTD(3)) AFTER egress_port;

-- Views for dashboards: rollups summed over batches.

CREATE OR REPLACE VIEW queue_ms AS
SELECT
    node_id,
    egress_port,
    queue,
    time,
    sum(q.packets) AS packets,
    sum(q.wire_bytes) AS wire_bytes,
    sum(q.drops) AS drops,
    sum(q.ce_marks) AS ce_marks,
    sum(q.reports_lost) AS reports_lost,
    sum(q.occupancy_sum_bytes) / greatest(sum(q.packets), 1) AS occupancy_mean_bytes,
    min(q.occupancy_min_bytes) AS occupancy_min_bytes,
    max(q.occupancy_max_bytes) AS occupancy_max_bytes,
    max(q.limit_bytes) AS limit_bytes
FROM queue_1ms AS q FINAL
GROUP BY node_id, egress_port, queue, time;

CREATE OR REPLACE VIEW queue_s AS
SELECT
    node_id,
    egress_port,
    queue,
    time,
    sum(q.packets) AS packets,
    sum(q.wire_bytes) AS wire_bytes,
    sum(q.drops) AS drops,
    sum(q.ce_marks) AS ce_marks,
    sum(q.reports_lost) AS reports_lost,
    sum(q.occupancy_sum_bytes) / greatest(sum(q.packets), 1) AS occupancy_mean_bytes,
    min(q.occupancy_min_bytes) AS occupancy_min_bytes,
    max(q.occupancy_max_bytes) AS occupancy_max_bytes,
    max(q.limit_bytes) AS limit_bytes,
    sum(q.data_packets) AS data_packets,
    sum(q.joined_packets) AS joined_packets
FROM queue_1s AS q FINAL
GROUP BY node_id, egress_port, queue, time;

CREATE OR REPLACE VIEW flow_s AS
SELECT
    capture,
    node_id,
    egress_port,
    queue,
    flow_id,
    time,
    sum(f.packets) AS packets,
    sum(f.ip_bytes_sum) AS ip_bytes,
    sum(f.payload_bytes_sum) AS payload_bytes,
    sum(f.drops) AS drops,
    sum(f.ce_marks) AS ce_marks,
    sum(f.retransmitted_packets) AS retransmitted_packets,
    sum(f.joined_packets) AS joined_packets,
    if(joined_packets > 0, sum(f.cwnd_sum_segments) / joined_packets, NULL) AS cwnd_mean_segments,
    if(joined_packets > 0, sum(f.srtt_sum_us) / joined_packets, NULL) AS srtt_mean_us
FROM flow_1s AS f FINAL
GROUP BY capture, node_id, egress_port, queue, flow_id, time;

CREATE OR REPLACE VIEW flows AS
SELECT
    e.capture AS capture,
    assumeNotNull(e.flow_id) AS flow_id,
    argMax(e.src, e.order) AS src,
    argMax(e.dst, e.order) AS dst,
    argMax(e.src_port, e.order) AS src_port,
    argMax(e.dst_port, e.order) AS dst_port,
    argMax(e.protocol, e.order) AS protocol,
    argMax(e.probed, e.order) AS probed,
    argMax(e.handshake_rtt_ns, e.order) AS handshake_rtt_ns,
    argMax(e.mss_bytes, e.order) AS mss_bytes,
    min(e.time) AS first_seen
FROM events AS e
WHERE e.kind = 'flow' AND e.flow_id IS NOT NULL
GROUP BY e.capture, e.flow_id;

CREATE OR REPLACE VIEW changes AS
SELECT
    fromUnixTimestamp64Milli(toInt64(c.unix_ms), 'UTC') AS time,
    c.* EXCEPT (record),
    c.record AS record
FROM limit_changes AS c FINAL;
