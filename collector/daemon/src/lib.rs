//! The Tidemark collector: receives INT reports and tcp_probe, joins, stores and streams them
