// SPDX-License-Identifier: Apache-2.0
//! Headers, stacks, metadata.

use std::ops::Range;

use crate::field::FieldRef;

/// An instance of a header or of a metadata struct.
#[derive(Debug, Clone)]
pub struct Header {
    /// Name of the instance.
    pub name: String,
    /// Name of its type.
    pub type_name: String,
    /// Metadata is never parsed or deparsed, and always valid.
    pub metadata: bool,
    /// Slot of the word that is 1 when the header is valid.
    pub valid: u32,
    /// In the order of the header's type.
    pub fields: Vec<HeaderField>,
    /// Slots of all fields, contiguous.
    pub words: Range<usize>,
    /// Width without the variable-length field.
    pub fixed_bits: u32,
    /// Index of the variable-length field.
    pub variable: Option<usize>,
    /// Bytes of the packet in each of `words`, when the header has fixed length
    /// and can be divided into words of whole bytes: then parsing and deparsing
    /// move words, not fields. Otherwise empty, and each field is alone.
    pub word_bytes: Vec<u8>,
    /// Stack and index in it, for an element of a header stack.
    pub stack: Option<(u32, u32)>,
}

/// Fields that a copy of a packet takes over.
#[derive(Debug, Default)]
pub struct FieldList {
    /// Words that are copied whole.
    pub words: Vec<Range<u32>>,
    /// Fields that share their word with others.
    pub parts: Vec<FieldRef>,
}

/// A field of a header.
#[derive(Debug, Clone)]
pub struct HeaderField {
    /// Name within the header.
    pub name: String,
    /// Place in the header vector.
    pub field: FieldRef,
    /// From the start of the header; meaningless after a variable-length field.
    pub bit_offset: u32,
}

/// A header stack.
#[derive(Debug, Clone)]
pub struct Stack {
    /// Name of the stack.
    pub name: String,
    /// Numbers of the elements.
    pub headers: Vec<u32>,
    /// Slot with the number of elements in use.
    pub next: u32,
}

/// Fields of v1model's standard metadata, each under its P4 name; `None` where
/// the program lacks the field.
#[derive(Debug, Default, Clone)]
#[allow(missing_docs)]
pub struct StandardMetadata {
    pub ingress_port: Option<FieldRef>,
    pub egress_spec: Option<FieldRef>,
    pub egress_port: Option<FieldRef>,
    pub instance_type: Option<FieldRef>,
    pub packet_length: Option<FieldRef>,
    pub enq_timestamp: Option<FieldRef>,
    pub enq_qdepth: Option<FieldRef>,
    pub deq_timedelta: Option<FieldRef>,
    pub deq_qdepth: Option<FieldRef>,
    pub ingress_global_timestamp: Option<FieldRef>,
    pub egress_global_timestamp: Option<FieldRef>,
    pub mcast_grp: Option<FieldRef>,
    pub egress_rid: Option<FieldRef>,
    pub checksum_error: Option<FieldRef>,
    pub parser_error: Option<FieldRef>,
    pub priority: Option<FieldRef>,
    pub qid: Option<FieldRef>,
}
