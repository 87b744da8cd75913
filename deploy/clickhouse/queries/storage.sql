-- SPDX-License-Identifier: Apache-2.0
-- Rows and bytes of every table of this database, packed and plain.
SELECT
    table,
    sum(rows) AS table_rows,
    sum(bytes_on_disk) AS bytes_on_disk,
    round(bytes_on_disk / greatest(table_rows, 1), 2) AS bytes_per_row,
    sum(data_uncompressed_bytes) AS uncompressed_bytes,
    count() AS parts
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
ORDER BY bytes_on_disk DESC
