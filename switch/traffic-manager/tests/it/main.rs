// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `traffic-manager`, in one binary: the program is linked once.

mod buffers;
mod common;
mod programs;
mod super_frame;
mod super_frames;
