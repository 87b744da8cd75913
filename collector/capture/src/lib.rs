//! Parquet captures: writer, reader and replay
