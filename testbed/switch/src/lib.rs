//! Embedded switch: runs a compiled v1model program on Linux interfaces
