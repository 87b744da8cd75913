// SPDX-License-Identifier: Apache-2.0
//! Fields through which a program learns what queue management did with a packet.

use crate::field::FieldRef;

/// Fields of a program that reports drops and marks, found by their names in the P4 source, as
/// v1model has no fields of its own for them. A program that lacks any of them learns nothing.
#[derive(Debug, Clone, Copy)]
pub struct AqmFields {
    /// Metadata `report.dropped`.
    pub dropped: FieldRef,
    /// Metadata `report.drop_reason`.
    pub drop_reason: FieldRef,
    /// Metadata `report.flags`.
    pub flags: FieldRef,
    /// Metadata `sampled`: whether the packet is reported if it is watched.
    pub sampled: FieldRef,
    /// For the headers `ipv4` and `ipv6`: the validity bit and the field `ecn`.
    pub ecn: [(FieldRef, FieldRef); 2],
}

/// Returns `report_dropped` for `metadata_t._report_dropped2`: p4c puts the metadata's type in
/// front of a field's name, and its number behind it.
pub(crate) fn source_name(field: &str) -> &str {
    let name = field.rsplit('.').next().unwrap_or(field);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.trim_start_matches('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(source_name("metadata_t._report_dropped2"), "report_dropped");
        assert_eq!(source_name("userMetadata._sampled27"), "sampled");
        assert_eq!(source_name("tmp_1"), "tmp_");
        assert_eq!(source_name(""), "");
    }

    /// Tests the program as compiled in this repository.
    #[test]
    fn tidemarks_program_has_them() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../p4src/build/tidemark.json"
        );
        let program = crate::load(&std::fs::read(path).unwrap()).unwrap();
        let f = program.aqm.unwrap();
        let widths = [f.dropped, f.drop_reason, f.flags, f.sampled].map(|f| f.width);
        assert_eq!(widths, [1, 8, 8, 1]);
        assert_eq!(
            f.ecn.map(|(valid, ecn)| (valid.width, ecn.width)),
            [(1, 2); 2]
        );
        assert_ne!(f.ecn[0], f.ecn[1]);
    }

    #[test]
    fn a_program_without_them_loads() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../p4src/build/int_md/int_md.json"
        );
        let program = crate::load(&std::fs::read(path).unwrap()).unwrap();
        assert!(program.aqm.is_none());
    }
}
