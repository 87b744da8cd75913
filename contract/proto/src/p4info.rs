// SPDX-License-Identifier: Apache-2.0
//! Reads P4Info as written by p4c: protobuf text (`.txtpb`) or binary.

use crate::p4::config::v1::P4Info;
use crate::text_format::{self, TextError};
use prost::Message as _;

/// Error for a P4Info that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum P4InfoError {
    /// The input is text, but not a P4Info.
    #[error("not a P4Info in protobuf text format: {0}")]
    Text(#[from] TextError),
    /// The input is neither text nor the wire format of a P4Info.
    #[error("not a P4Info in protobuf binary format: {0}")]
    Binary(#[from] prost::DecodeError),
}

/// Parses protobuf text format. An error names the line and column.
pub fn parse_text(text: &str) -> Result<P4Info, P4InfoError> {
    Ok(text_format::parse(text)?)
}

/// Parses protobuf binary format.
pub fn parse_binary(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    Ok(P4Info::decode(bytes)?)
}

/// Parses either format; p4c's `.txt`, `.txtpb`, `.pb` and `.bin` need not be told
/// apart by name. Printable UTF-8 is taken as text.
pub fn parse(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    match text_format::as_text(bytes) {
        Some(text) => parse_text(text),
        None => parse_binary(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4::config::v1::match_field::{Match, MatchType};

    const TEXT: &str = r#"
pkg_info { arch: "v1model" }
tables {
  preamble { id: 45497434 name: "Ingress.l2_forward" alias: "l2_forward" }
  match_fields { id: 1 name: "hdr.ethernet.dst_addr" bitwidth: 48 match_type: EXACT }
  action_refs { id: 7 scope: DEFAULT_ONLY annotations: "@defaultonly" }
  initial_default_action { action_id: 7 arguments { param_id: 1 value: "\000\001" } }
  size: 1024
}
type_info { structs { key: "s" value { members { name: "a" type_spec { bitstring { bit { bitwidth: 9 } } } } } } }
"#;

    #[test]
    fn text_as_p4c_writes_it() {
        let info = parse_text(TEXT).unwrap();
        let t = &info.tables[0];
        assert_eq!(t.preamble.as_ref().unwrap().name, "Ingress.l2_forward");
        assert_eq!(
            t.match_fields[0].r#match,
            Some(Match::MatchType(MatchType::Exact as i32))
        );
        let args = &t.initial_default_action.as_ref().unwrap().arguments;
        assert_eq!(args[0].value, [0, 1]);
        assert!(info.type_info.unwrap().structs.contains_key("s"));
    }

    #[test]
    fn formats_agree() {
        let info = parse_text(TEXT).unwrap();
        assert_eq!(parse_binary(&info.encode_to_vec()).unwrap(), info);
        assert_eq!(parse(&info.encode_to_vec()).unwrap(), info);
        assert_eq!(parse(TEXT.as_bytes()).unwrap(), info);
    }

    #[test]
    fn the_program_of_this_repository() {
        let text = include_str!("../../../p4src/build/tidemark.p4info.txtpb");
        let names: Vec<_> = parse_text(text)
            .unwrap()
            .tables
            .into_iter()
            .filter_map(|t| t.preamble)
            .map(|p| p.name)
            .collect();
        for name in ["Ingress.l2_forward", "Ingress.queue_limit", "Ingress.watch"] {
            assert!(names.iter().any(|n| n == name), "{name} not in {names:?}");
        }
    }

    #[test]
    fn errors_say_where() {
        let e = parse_text("tables {\n  nonsense: 1\n}").unwrap_err();
        assert!(e.to_string().contains("line 2, column 3"), "{e}");
        assert!(parse_binary(b"\xff\xff\xff").is_err());
    }
}
