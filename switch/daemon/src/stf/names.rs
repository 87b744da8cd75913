// SPDX-License-Identifier: Apache-2.0
//! Finds tables and keys by the names that tests use.

use anyhow::{Result, anyhow};

use p4_ir::{Program, Table, TableKey};

pub(super) fn ends_with_name(full: &str, name: &str) -> bool {
    full == name || full.strip_suffix(name).is_some_and(|h| h.ends_with('.'))
}

pub(super) fn find_table<'p>(p: &'p Program, name: &str) -> Result<&'p Table> {
    let all = || p.tables.iter();
    all()
        .find(|t| t.name == name)
        .or_else(|| all().find(|t| ends_with_name(&t.name, name)))
        .ok_or_else(|| anyhow!("no table {name}"))
}

/// Converts p4c's `a$1.b` to `a[1].b`.
fn bracketed(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '$' && chars.peek().is_some_and(char::is_ascii_digit) {
            out.push('[');
            while let Some(d) = chars.next_if(char::is_ascii_digit) {
                out.push(d);
            }
            out.push(']');
        } else {
            out.push(c);
        }
    }
    out
}

pub(super) fn find_key(t: &Table, name: &str) -> Result<usize> {
    let name = bracketed(name);
    let at = |f: &dyn Fn(&TableKey) -> bool| t.keys.iter().position(f);
    let valid = name.strip_suffix("valid").map(|n| format!("{n}$valid$"));
    at(&|k| k.name == name || k.name == format!("{name}$") || k.name == format!("{name}.$valid$"))
        .or_else(|| valid.and_then(|v| at(&|k| k.name == v)))
        .or_else(|| {
            at(&|k| ends_with_name(&k.name, &name) || k.name.ends_with(&format!(".{name}$")))
        })
        .or_else(|| at(&|k| name == "valid" && k.name.ends_with("$valid$")))
        .ok_or_else(|| anyhow!("table {} has no key {name}", t.name))
}
