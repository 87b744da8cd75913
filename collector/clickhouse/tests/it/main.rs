// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-clickhouse`, in one binary: the program is linked once.

mod common;
mod sink;
