// SPDX-License-Identifier: Apache-2.0
//! Reads P4Info as p4c writes it: protobuf text (`.txtpb`) or binary.

use crate::p4::config::v1::P4Info;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::sync::LazyLock;

const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/p4info.fds"));

static P4INFO: LazyLock<Result<MessageDescriptor, String>> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS)
        .map_err(|e| e.to_string())?
        .get_message_by_name("p4.config.v1.P4Info")
        .ok_or_else(|| "p4.config.v1.P4Info is missing".into())
});

/// Why a P4Info could not be read.
#[derive(Debug, thiserror::Error)]
pub enum P4InfoError {
    #[error("not a P4Info in protobuf text format: {0}")]
    Text(String),
    #[error("not a P4Info in protobuf binary format: {0}")]
    Binary(#[from] prost::DecodeError),
    #[error("built-in descriptors of P4Info are unusable: {0}")]
    Descriptors(String),
}

/// Parses protobuf text format. The error names line and column.
pub fn parse_text(text: &str) -> Result<P4Info, P4InfoError> {
    let descriptor = P4INFO
        .as_ref()
        .map_err(|e| P4InfoError::Descriptors(e.clone()))?;
    let message = DynamicMessage::parse_text_format(descriptor.clone(), text)
        .map_err(|e| P4InfoError::Text(with_position(text, &e)))?;
    Ok(message.transcode_to::<P4Info>()?)
}

/// Parses protobuf binary format.
pub fn parse_binary(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    Ok(P4Info::decode(bytes)?)
}

/// Parses either format: what p4c calls `.txt`, `.txtpb`, `.pb` or `.bin` need
/// not be told apart by name. Printable UTF-8 is taken as text.
pub fn parse(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    match std::str::from_utf8(bytes) {
        Ok(text)
            if !text
                .chars()
                .any(|c| c.is_control() && !c.is_ascii_whitespace()) =>
        {
            parse_text(text)
        }
        _ => parse_binary(bytes),
    }
}

/// Text form, as p4c writes it.
pub fn to_text(info: &P4Info) -> Result<String, P4InfoError> {
    let descriptor = P4INFO
        .as_ref()
        .map_err(|e| P4InfoError::Descriptors(e.clone()))?;
    let mut message = DynamicMessage::new(descriptor.clone());
    message.transcode_from(info)?;
    let options = prost_reflect::text_format::FormatOptions::new().pretty(true);
    Ok(message.to_text_format_with_options(&options) + "\n")
}

fn with_position(text: &str, e: &prost_reflect::text_format::ParseError) -> String {
    use miette::Diagnostic as _;
    let at = e.labels().and_then(|mut l| l.next()).map(|l| l.offset());
    let Some(before) = at.and_then(|at| text.get(..at)) else {
        return e.to_string();
    };
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |i| i + 1) + 1;
    format!("{e} (line {line}, column {column})")
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
        assert_eq!(parse_text(&to_text(&info).unwrap()).unwrap(), info);
    }

    #[test]
    fn the_program_of_this_repository() {
        let text = include_str!("../../p4src/build/tidemark.p4info.txtpb");
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
