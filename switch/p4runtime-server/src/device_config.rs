// SPDX-License-Identifier: Apache-2.0
//! Decodes a client's `p4_device_config`: p4c's JSON, either plain or, as BMv2's clients send it,
//! wrapped in a `p4.tmp.P4DeviceConfig`.

use std::borrow::Cow;

use prost::Message;

/// `p4.tmp.P4DeviceConfig`, of which only the device data matter here.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// Returns the program within. Input in neither form is returned unchanged, so that the program
/// loader reports the error.
pub(crate) fn program(config: &[u8]) -> Cow<'_, [u8]> {
    // No message of this type starts with a brace or with JSON white space.
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
