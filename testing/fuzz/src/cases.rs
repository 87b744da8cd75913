// SPDX-License-Identifier: Apache-2.0
//! Valid programs, and the writes for them.

/// A program, its P4Info, and the writes for it.
pub(crate) struct Case {
    pub(crate) json: Vec<u8>,
    pub(crate) info: &'static str,
    pub(crate) writes: &'static str,
}

/// A program with every kind of entity, and Tidemark's.
pub(crate) fn cases() -> [Case; 2] {
    [
        Case {
            json: include_bytes!("../../../switch/daemon/tests/data/entities/entities.json")
                .to_vec(),
            info: include_str!("../../../switch/daemon/tests/data/entities/entities.p4info.txtpb"),
            writes: include_str!("../../../switch/daemon/tests/data/entities/writes.txtpb"),
        },
        Case {
            json: crate::common::program(),
            info: include_str!("../../../p4src/build/tidemark.p4info.txtpb"),
            writes: include_str!("../../../switch/daemon/tests/data/forward-and-report.txtpb"),
        },
    ]
}
