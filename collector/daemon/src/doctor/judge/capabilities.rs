// SPDX-License-Identifier: Apache-2.0
//! Checks the capabilities that the configuration needs.

use daemon_kit::doctor::Finding;

/// A use that needs a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::doctor) enum Need {
    /// Opening the kernel's tracepoints.
    Tracepoints,
    /// Reading the layout of the tracepoints' events.
    Tracefs,
    /// A receive buffer above the system's limit.
    ReceiveBuffer,
    /// Packet rings.
    Ring,
    /// A port that only root may listen on.
    LowPort,
}

impl Need {
    /// Returns the capability's name, its number and that of one that includes it, and its purpose.
    fn capability(self) -> (&'static str, [u32; 2], &'static str) {
        const DAC_OVERRIDE: u32 = 1;
        const DAC_READ_SEARCH: u32 = 2;
        const NET_BIND_SERVICE: u32 = 10;
        const NET_ADMIN: u32 = 12;
        const NET_RAW: u32 = 13;
        const SYS_ADMIN: u32 = 21;
        const PERFMON: u32 = 38;
        match self {
            Self::Tracepoints => ("CAP_PERFMON", [PERFMON, SYS_ADMIN], "to open tracepoints"),
            Self::Tracefs => {
                let numbers = [DAC_READ_SEARCH, DAC_OVERRIDE];
                ("CAP_DAC_READ_SEARCH", numbers, "to read tracefs")
            }
            Self::ReceiveBuffer => {
                let what = "for a receive buffer above net.core.rmem_max";
                ("CAP_NET_ADMIN", [NET_ADMIN, NET_ADMIN], what)
            }
            Self::Ring => {
                let numbers = [NET_RAW, NET_RAW];
                (
                    "CAP_NET_RAW",
                    numbers,
                    "for rings of packets (receive.path)",
                )
            }
            Self::LowPort => {
                let numbers = [NET_BIND_SERVICE, NET_BIND_SERVICE];
                ("CAP_NET_BIND_SERVICE", numbers, "for its low port")
            }
        }
    }
}

/// Checks `needs`, each with whether it is met anyway, against the capability bits `effective`.
pub(in crate::doctor) fn capabilities(needs: &[(Need, bool)], effective: u64) -> Finding {
    let check = "capabilities";
    if needs.is_empty() {
        return Finding::ok(check, "none needed");
    }
    let mut missing = Vec::new();
    let found = needs.iter().map(|&(need, met)| {
        let (name, numbers, what) = need.capability();
        let has = numbers.iter().any(|n| effective & (1 << n) != 0);
        let stands = match (has, met) {
            (true, _) => "is present",
            (false, true) => "is missing, but not needed here",
            (false, false) => {
                missing.push(name);
                "is missing"
            }
        };
        format!("{name} {what} {stands}")
    });
    let found = found.collect::<Vec<_>>().join("; ");
    if missing.is_empty() {
        return Finding::ok(check, found);
    }
    let missing = missing.join(" ");
    Finding::warning(
        check,
        found,
        format!(
            "AmbientCapabilities={missing} in the unit (`systemctl edit tidemark-collector`), or start as root"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use daemon_kit::doctor::Verdict;

    const NONE: u64 = 0;
    const ALL: u64 = u64::MAX;

    #[test]
    fn nothing_is_asked_for_in_vain() {
        assert_eq!(capabilities(&[], NONE).found, "none needed");
        let met = capabilities(&[(Need::Tracepoints, true)], NONE);
        assert_eq!(met.verdict, Verdict::Ok);
        assert!(met.found.contains("not needed here"), "{}", met.found);
    }

    #[test]
    fn what_is_missing_is_named_as_the_unit_takes_it() {
        let needs = [
            (Need::Tracepoints, false),
            (Need::Tracefs, false),
            (Need::ReceiveBuffer, false),
            (Need::Ring, false),
            (Need::LowPort, false),
        ];
        assert_eq!(capabilities(&needs, ALL).verdict, Verdict::Ok);
        // CAP_SYS_ADMIN and CAP_DAC_OVERRIDE include the first two.
        let some = capabilities(&needs, 1 << 21 | 1 << 1);
        assert_eq!(some.verdict, Verdict::Warning);
        let remedy = some.remedy.unwrap();
        assert!(
            remedy.starts_with(
                "AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW CAP_NET_BIND_SERVICE in"
            ),
            "{remedy}"
        );
        let bare = capabilities(&needs, NONE).remedy.unwrap();
        assert!(bare.contains("CAP_PERFMON CAP_DAC_READ_SEARCH"), "{bare}");
    }
}
