// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::p4::config::v1::P4Info;
use crate::p4::v1::{WriteRequest, entity, update};

fn write(text: &str) -> WriteRequest {
    parse(text).unwrap()
}

fn refused(text: &str) -> String {
    parse::<WriteRequest>(text).unwrap_err().to_string()
}

#[test]
fn every_way_to_write_a_message_is_the_same() {
    let plain =
        write("device_id: 7 updates { type: INSERT entity { table_entry { table_id: 9 } } }");
    let update = &plain.updates[0];
    assert_eq!(update.r#type, update::Type::Insert as i32);
    let Some(entity::Entity::TableEntry(t)) = update.entity.as_ref().unwrap().entity.as_ref()
    else {
        panic!("not a table entry: {update:?}");
    };
    assert_eq!((plain.device_id, t.table_id), (7, 9));
    for text in [
        "device_id: 0x7, updates: < type: 1; entity: { table_entry <table_id: 011> } >",
        "# a comment\ndevice_id:7\tupdates:[{type:INSERT entity{table_entry{table_id:9}}}]# end",
        "updates [{ type: INSERT, entity { table_entry { table_id: 9 } } }] device_id: 7",
    ] {
        assert_eq!(write(text), plain, "{text}");
    }
}

#[test]
fn strings_and_their_escapes() {
    let info: P4Info = parse(
        r#"pkg_info { name: "a\tb" '\'"' "\303\274\xfc\u00fc" arch: "" }
           tables { initial_default_action { arguments { value: "\000\xff\7" } } }"#
            .replace(r"\xfc", "")
            .as_str(),
    )
    .unwrap();
    assert_eq!(info.pkg_info.unwrap().name, "a\tb'\"üü");
    let action = info.tables[0].initial_default_action.as_ref().unwrap();
    assert_eq!(action.arguments[0].value, [0, 255, 7]);
    let text = r#"pkg_info { name: "\xfc" }"#;
    let e = parse::<P4Info>(text).unwrap_err().to_string();
    assert_eq!(e, "name is not UTF-8 (line 1, column 18)");
}

#[test]
fn negative_numbers_keep_their_sign() {
    let text = "updates { entity { table_entry { priority: -3 counter_data { byte_count: -9000000000 } } } }";
    let update = write(text).updates.remove(0);
    let Some(entity::Entity::TableEntry(t)) = update.entity.unwrap().entity else {
        panic!("not a table entry");
    };
    assert_eq!(t.priority, -3);
    assert_eq!(t.counter_data.unwrap().byte_count, -9_000_000_000);
}

#[test]
fn errors_say_what_and_where() {
    for (text, what) in [
        (
            "\n nonsense: 1",
            "p4.v1.WriteRequest has no field nonsense (line 2, column 2)",
        ),
        (
            "device_id 7",
            "expected `:` after device_id (line 1, column 11)",
        ),
        (
            "device_id: 1 device_id: 2",
            "device_id is given, and device_id already was (line 1, column 14)",
        ),
        (
            "updates {",
            "expected a field of p4.v1.Update, found the end of the text (line 1, column 10)",
        ),
        (
            "updates { type: SOMETIMES }",
            "type has no value SOMETIMES (line 1, column 17)",
        ),
        (
            "device_id: -1",
            "expected a number from 0 to 18446744073709551615 for device_id (line 1, column 12)",
        ),
        (
            "device_id: 1.5",
            "expected a number from 0 to 18446744073709551615 for device_id (line 1, column 12)",
        ),
        ("role: \"open", "string without an end (line 1, column 7)"),
        (
            "role: \"\\q\"",
            "unknown escape sequence (line 1, column 8)",
        ),
        (
            "role: \"\\777\"",
            "octal escape above \\377 (line 1, column 8)",
        ),
        ("role: §", "unexpected character '§' (line 1, column 7)"),
        (
            "[p4.x]: 1",
            "extensions and expanded Any are not supported (line 1, column 1)",
        ),
        (
            "updates { entity { table_entry { table_id: 4294967296 } } }",
            "expected a number from 0 to 4294967295 for table_id (line 1, column 44)",
        ),
        (
            "updates { entity { table_entry {} counter_entry {} } }",
            "counter_entry is given, and table_entry already was (line 1, column 35)",
        ),
    ] {
        assert_eq!(refused(text), what, "{text}");
    }
}

#[test]
fn nesting_has_an_end() {
    let deep = |n: usize| {
        let open = "struct { members { ".repeat(n);
        let text = format!(
            "updates {{ entity {{ register_entry {{ data {{ {open} {} }} }} }} }}",
            "} } ".repeat(n)
        );
        parse::<WriteRequest>(&text)
    };
    assert!(deep(10).is_ok());
    let e = deep(100_000).unwrap_err();
    assert!(e.what.contains("inside each other"), "{e}");
}

#[test]
fn text_is_told_from_wire_format() {
    assert_eq!(as_text(b"a: 1\n\t"), Some("a: 1\n\t"));
    assert_eq!(as_text(b"\x0a\x02\x08\x01"), None);
    assert_eq!(as_text(b"\xff"), None);
}

mod any_input {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_read_or_refused(text in "([a-z_]{1,12}|[{}<>\\[\\]:,; \n-]|\"[^\"]{0,8}\"|[0-9x]{1,12}|\\PC){0,40}") {
            let _ = parse::<WriteRequest>(&text);
            let _ = parse::<P4Info>(&text);
        }
    }
}
