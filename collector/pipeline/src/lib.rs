//! Loss accounting, join by sequence number, clock alignment, interval aggregation; pure
