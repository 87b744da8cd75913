// SPDX-License-Identifier: Apache-2.0
//! Format files of tracepoints (`events/tcp/tcp_probe/format`): the offset of each field in the raw
//! data of a sample, which differs between kernels.

use thiserror::Error;

/// Why a format file could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum FormatError {
    #[error("no `ID:` line")]
    NoId,
    #[error("line {line}: cannot read field description `{text}`")]
    BadField { line: usize, text: String },
    #[error("tracepoint `{event}` has no field `{field}` in this kernel")]
    MissingField { event: String, field: &'static str },
    #[error(
        "field `{field}` of tracepoint `{event}` has {size_bytes} bytes, {expected_bytes} expected"
    )]
    WrongSize {
        event: String,
        field: &'static str,
        size_bytes: usize,
        expected_bytes: usize,
    },
}

/// Position of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, without its type.
    pub name: String,
    /// Offset in the raw data, bytes.
    pub offset: usize,
    /// Length in bytes.
    pub size_bytes: usize,
}

/// One tracepoint's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Name of the tracepoint.
    pub name: String,
    /// `common_type` of its samples, `config` of its perf event.
    pub id: u16,
    /// Fields in the order of the file.
    pub fields: Vec<Field>,
}

impl Format {
    /// Parses the text of a format file.
    ///
    /// # Errors
    /// If the file has no id or a field line cannot be read.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let mut name = String::new();
        let mut id = None;
        let mut fields = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name = rest.trim().to_owned();
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if line.starts_with("field:") {
                let field = parse_field(line).ok_or_else(|| FormatError::BadField {
                    line: index + 1,
                    text: line.to_owned(),
                })?;
                fields.push(field);
            }
        }
        Ok(Self {
            name,
            id: id.ok_or(FormatError::NoId)?,
            fields,
        })
    }

    /// Returns the offset of a field, which must exist with this size.
    ///
    /// # Errors
    /// If it does not; names the tracepoint and the field.
    pub fn require(&self, name: &'static str, size_bytes: usize) -> Result<usize, FormatError> {
        let field = self.find(name).ok_or_else(|| FormatError::MissingField {
            event: self.name.clone(),
            field: name,
        })?;
        if field.size_bytes != size_bytes {
            return Err(FormatError::WrongSize {
                event: self.name.clone(),
                field: name,
                size_bytes: field.size_bytes,
                expected_bytes: size_bytes,
            });
        }
        Ok(field.offset)
    }

    /// Finds a field by name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Parses a line such as `field:__u8 saddr[28]; offset:8; size:28; signed:0;`.
fn parse_field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let name = declaration
        .split('[')
        .next()?
        .trim_end()
        .rsplit([' ', '*'])
        .next()?;
    let mut offset = None;
    let mut size_bytes = None;
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse().ok(),
            Some(("size", value)) => size_bytes = value.trim().parse().ok(),
            _ => {}
        }
    }
    if name.is_empty() {
        return None;
    }
    Some(Field {
        name: name.to_owned(),
        offset: offset?,
        size_bytes: size_bytes?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: &str = include_str!("../fixtures/tcp_probe.linux-6.18.format");

    #[test]
    fn reads_the_file_of_linux_6_18() {
        let format = Format::parse(PROBE).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("tcp_probe", 2273));
        assert_eq!(format.require("saddr", 28), Ok(8));
        assert_eq!(format.require("srtt", 4), Ok(100));
        assert_eq!(format.require("skaddr", 8), Ok(128));
        assert_eq!(format.require("common_pid", 4), Ok(4));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(Format::parse("name: x\n"), Err(FormatError::NoId));
        let format = Format::parse(PROBE).unwrap();
        let error = format.require("nothing", 4).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`tcp_probe` has no field `nothing`")
        );
        let error = format.require("srtt", 8).unwrap_err();
        assert!(error.to_string().contains("4 bytes, 8 expected"), "{error}");
        let error = Format::parse("ID: 1\n\tfield:int x;\toffset:y;").unwrap_err();
        assert!(matches!(error, FormatError::BadField { line: 2, .. }));
    }
}
