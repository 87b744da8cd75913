//! INT telemetry report codec: v2.0, v1.0 and v0.5, no I/O
