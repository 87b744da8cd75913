// SPDX-License-Identifier: Apache-2.0
//! Fuzzes the collector's configuration.
#![no_main]

use std::path::Path;
use tidemark_collector::config::{Config, parse};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let path = Path::new("collector.toml");
    if let Ok(config) = parse::<Config>(path, text) {
        let _ = config.validate(path);
    }
});
