//! Buffer-sizing rules and the advisor; pure
