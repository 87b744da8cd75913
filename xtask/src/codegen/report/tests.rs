// SPDX-License-Identifier: Apache-2.0
//! Compares the table with reports written by the compiled programs.

#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn the_programs_write_the_fields_of_this_table() {
    let root = crate::root();
    let report = Report::read(&root).unwrap();
    let text = read(&root.join("p4src/build/report_layout.json")).unwrap();
    let layout: serde_json::Value = serde_json::from_str(&text).unwrap();
    let payloads = layout["payloads"].as_object().unwrap();
    assert_eq!(payloads.len(), 12);
    for (kind, payload) in payloads {
        let kind = kind.split(' ').next().unwrap();
        let written: Vec<(String, u64, u64)> = payload["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| {
                let number = |key: &str| f[key].as_u64().unwrap();
                let name = f["name"].as_str().unwrap().to_owned();
                (name, number("offset_bits"), number("bits"))
            })
            .filter(|(name, ..)| {
                name.starts_with("report_")
                    && !name.starts_with("report_pad.")
                    && !name.starts_with("report_no_transport.")
            })
            .collect();
        let wanted: Vec<(String, u64, u64)> = report
            .sent(kind)
            .into_iter()
            .map(|(header, f, at)| {
                let name = format!("{}.{}", header.unwrap(), f.p4.as_ref().unwrap_or(&f.name));
                (name, at.into(), f.bits.into())
            })
            .collect();
        assert_eq!(written, wanted, "{kind}");
        let (bits, words) = report.metadata_of(kind);
        let constant =
            |name: &str| &layout["constants"][format!("METADATA_{name}_{}", upper(kind))];
        assert_eq!(
            (constant("BITS"), constant("WORDS")),
            (&bits.into(), &words.into())
        );
    }
}
