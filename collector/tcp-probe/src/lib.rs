//! Linux tcp_probe: perf-ring reader and trace_pipe text parser
