// SPDX-License-Identifier: Apache-2.0
//! Queries the kernel: capabilities, clock, interfaces and their offloads.

use super::judge::{Offloads, WallClock};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;

/// Returns the effective capabilities of this process as bits; 0 if /proc is missing.
pub(super) fn capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let effective = effective.and_then(|c| u64::from_str_radix(c.trim(), 16).ok());
    effective.unwrap_or(0)
}

/// Reads the state of the kernel's clock, which NTP maintains.
pub(super) fn wall_clock() -> Option<WallClock> {
    // SAFETY: the structure holds only numbers, all of which may be 0.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: without modes the call only fills the structure.
    let state = unsafe { libc::adjtimex(&raw mut clock) };
    (state >= 0).then_some(WallClock {
        synchronised: state != libc::TIME_ERROR && clock.status & libc::STA_UNSYNC == 0,
        error_us: clock.maxerror,
    })
}

/// Returns the interfaces that receive packets to these addresses: those that have an address; for
/// 0.0.0.0 and [::], all that are up except loopback.
pub(super) fn interfaces(listen: &[SocketAddr]) -> BTreeSet<String> {
    let Ok(all) = getifaddrs() else {
        return BTreeSet::new();
    };
    let any = listen.iter().any(|a| a.ip().is_unspecified());
    let of_them = all.filter(|i| {
        let open = i.flags.contains(InterfaceFlags::IFF_UP)
            && !i.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        any && open || address(i).is_some_and(|a| listen.iter().any(|l| l.ip() == a))
    });
    of_them.map(|i| i.interface_name).collect()
}

fn address(interface: &InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
    v4.or_else(|| {
        let v6 = address.as_sockaddr_in6();
        v6.map(|a| a.ip().into())
    })
}

/// Reads the offloads of an interface from its driver.
pub(super) fn offloads(interface: &str) -> Offloads {
    // linux/ethtool.h
    const ETHTOOL_GFLAGS: u32 = 0x25;
    const ETHTOOL_GGRO: u32 = 0x2b;
    const ETH_FLAG_LRO: u32 = 1 << 15;
    Offloads {
        interface: interface.to_owned(),
        gro: ethtool(interface, ETHTOOL_GGRO).map(|on| on != 0),
        lro: ethtool(interface, ETHTOOL_GFLAGS).map(|flags| flags & ETH_FLAG_LRO != 0),
    }
}

/// Runs an ethtool command that takes no argument, and returns its number.
fn ethtool(interface: &str, command: u32) -> Option<u32> {
    // `struct ethtool_value`, and `struct ifreq` as this request uses it.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        data: *mut Value,
        rest: [u8; 16],
    }
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        data: std::ptr::null_mut(),
        rest: [0; 16],
    };
    // The last byte stays 0.
    let room = request.name.get_mut(..libc::IFNAMSIZ - 1)?;
    room.get_mut(..interface.len())?
        .copy_from_slice(interface.as_bytes());
    let mut value = Value { command, data: 0 };
    request.data = &raw mut value;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    // SAFETY: the request is at least as long as `struct ifreq`, and its pointer leads to
    // a value that lives until the call returns.
    let done = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCETHTOOL as libc::Ioctl,
            &raw mut request,
        )
    };
    (done == 0).then_some(value.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_an_address_and_says_its_offloads() {
        let listen = ["127.0.0.1:32766".parse().unwrap()];
        assert_eq!(interfaces(&listen), BTreeSet::from(["lo".to_owned()]));
        let any = ["0.0.0.0:32766".parse().unwrap()];
        assert!(!interfaces(&any).contains("lo"));
        // An address of a documentation network, which no interface has.
        assert!(interfaces(&["192.0.2.77:1".parse().unwrap()]).is_empty());
        let lo = offloads("lo");
        assert!(lo.gro.is_some() && lo.lro.is_some(), "{lo:?}");
    }

    #[test]
    fn what_is_not_there_is_not_known() {
        for name in ["", "no-such-device", "a-name-longer-than-any-interface"] {
            assert_eq!(offloads(name).gro, None, "{name:?}");
        }
    }

    #[test]
    fn the_kernel_says_how_good_its_clock_is() {
        assert!(wall_clock().is_some_and(|c| c.error_us >= 0));
    }
}
