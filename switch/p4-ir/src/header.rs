// SPDX-License-Identifier: Apache-2.0
//! Headers, header stacks and metadata.

use std::ops::Range;

use crate::field::FieldRef;

/// An instance of a header or of a metadata struct.
#[derive(Debug, Default, Clone)]
pub struct Header {
    /// Whether this is metadata, which is always valid and never parsed or deparsed.
    pub metadata: bool,
    /// Slot of the word that is 1 when the header is valid.
    pub valid: u32,
    /// Fields in the order of the header's type.
    pub fields: Vec<FieldRef>,
    /// Slots of all fields; contiguous.
    pub words: Range<usize>,
    /// Width without the variable-length field.
    pub fixed_bits: u32,
    /// Index of the variable-length field.
    pub variable: Option<usize>,
    /// Packet bytes held by each of `words`, if the header has a fixed length and can be
    /// divided into words of whole bytes: then parsing and deparsing move words, not fields.
    /// Otherwise empty, and no field shares a word.
    pub word_bytes: Vec<u8>,
    /// Validity slots of the other members of its union, cleared when this header becomes valid.
    pub rivals: Vec<u32>,
}

/// Fields that a copy of a packet keeps.
#[derive(Debug, Default)]
pub struct FieldList {
    /// Words that are copied entirely.
    pub words: Vec<Range<u32>>,
    /// Fields that share their word with other fields.
    pub parts: Vec<FieldRef>,
}

/// A header stack.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Numbers of the elements.
    pub headers: Vec<u32>,
    /// Slot that holds the number of elements in use.
    pub next: u32,
    /// For a stack of unions, which is one stack per member of the union: the stacks of the
    /// other members, which share `next`.
    pub others: Vec<u32>,
}

macro_rules! standard_metadata {
    ($($name:ident)*) => {
        /// Fields of v1model's standard metadata, each under its P4 name; `None` if the program
        /// lacks the field.
        #[derive(Debug, Default, Clone)]
        #[allow(missing_docs)]
        pub struct StandardMetadata {
            $(pub $name: Option<FieldRef>,)*
        }

        impl StandardMetadata {
            /// `find` looks up fields by name.
            pub(crate) fn new(find: impl Fn(&str) -> Option<FieldRef>) -> Self {
                Self {
                    $($name: find(stringify!($name)),)*
                }
            }

            /// Iterates over the fields that the program has.
            pub fn fields(&self) -> impl Iterator<Item = FieldRef> + use<> {
                [$(self.$name),*].into_iter().flatten()
            }
        }
    };
}

standard_metadata! {
    ingress_port egress_spec egress_port instance_type packet_length
    enq_timestamp enq_qdepth deq_timedelta deq_qdepth
    ingress_global_timestamp egress_global_timestamp
    mcast_grp egress_rid checksum_error parser_error priority qid
}
