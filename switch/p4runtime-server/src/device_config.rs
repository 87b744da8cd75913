// SPDX-License-Identifier: Apache-2.0
//! Decodes a client's `p4_device_config`: p4c's JSON, by itself or, as clients of BMv2 send it, in
//! a `p4.tmp.P4DeviceConfig`.

use std::borrow::Cow;

use prost::Message;

/// `p4.tmp.P4DeviceConfig`; of its fields only the device's data count here.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// The program in it. What is neither form comes back as it is, for the reader of
/// programs to refuse.
pub(crate) fn program(config: &[u8]) -> Cow<'_, [u8]> {
    // No message of this type starts with a brace or with white space of JSON.
    if config.trim_ascii_start().starts_with(b"{") {
        return Cow::Borrowed(config);
    }
    match P4DeviceConfig::decode(config) {
        Ok(c) if !c.device_data.is_empty() => Cow::Owned(c.device_data),
        _ => Cow::Borrowed(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_program() {
        assert_eq!(&*program(b" \n{\"a\": 1}"), b" \n{\"a\": 1}");
        // reassign = true, then device_data.
        let wrapped = b"\x08\x01\x1a\x02{}";
        assert_eq!(&*program(wrapped), b"{}");
    }

    #[test]
    fn anything_else_stays_as_it_is() {
        for other in [&b""[..], b"P4", b"\x08\x01", b"\x1a\x7f{}"] {
            assert_eq!(&*program(other), other);
        }
    }
}
