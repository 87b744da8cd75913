//! P4Runtime server over any target that can load a BMv2 program
