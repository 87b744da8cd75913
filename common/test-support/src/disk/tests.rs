// SPDX-License-Identifier: Apache-2.0
//! Tests that the simulated disk keeps synced data and can lose everything else.

use crate::disk::{Errors, SimDisk, Survival};
use durable_fs::{Disk, make_directories, replace_private};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

fn synced_file(disk: &SimDisk, path: &str, bytes: &[u8]) {
    let mut f = disk.create(Path::new(path)).unwrap();
    f.write_all(bytes).unwrap();
    f.sync().unwrap();
    disk.sync_directory(Path::new("/")).unwrap();
}

#[test]
fn what_was_synced_survives_every_cut() {
    for seed in 0..200 {
        for how in Survival::ALL {
            let disk = SimDisk::new(seed);
            synced_file(&disk, "/a", &[7; 1000]);
            let mut f = disk.append_private(Path::new("/a")).unwrap();
            f.write_all(&[9; 3000]).unwrap();
            let mut b = disk.create(Path::new("/b")).unwrap();
            b.write_all(b"b").unwrap();
            disk.restart(how);
            assert!(f.sync().is_err(), "a handle from before the cut");
            let a = disk.read(Path::new("/a")).unwrap();
            assert_eq!(a[..1000], [7; 1000], "{how:?}");
            assert!(a[1000..].iter().all(|b| [0, 9].contains(b)));
        }
    }
}

/// Each kind of loss must happen, or the tests of the stores would prove nothing.
#[test]
fn what_was_not_synced_can_be_lost_in_every_way() {
    let (mut gone, mut zeros, mut torn, mut empty, mut whole, mut lost_rename) = (0, 0, 0, 0, 0, 0);
    for seed in 0..300 {
        for how in Survival::ALL {
            let disk = SimDisk::new(seed);
            synced_file(&disk, "/old", b"old");
            let mut f = disk.create(Path::new("/new")).unwrap();
            f.write_all(&[9; 2000]).unwrap();
            disk.rename(Path::new("/new"), Path::new("/old")).unwrap();
            disk.restart(how);
            let left = disk.read(Path::new("/old")).unwrap_or_default();
            gone += u32::from(!disk.exists(Path::new("/old")).unwrap());
            lost_rename += u32::from(left == b"old");
            empty += u32::from(left.is_empty());
            whole += u32::from(left == [9; 2000]);
            zeros += u32::from(left == [0; 2000]);
            torn += u32::from(left.len() == 1024 && left[1023] == 9);
        }
    }
    assert_eq!(gone, 0, "a rename is whole or not at all");
    for n in [zeros, torn, empty, whole, lost_rename] {
        assert!(n > 10, "{zeros} {torn} {empty} {whole} {lost_rename}");
    }
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    for seed in 0..500 {
        let disk = SimDisk::new(seed);
        let path = Path::new("/d/state");
        make_directories(&disk, Path::new("/d")).unwrap();
        replace_private(&disk, path, b"first").unwrap();
        disk.cut_after(seed % 7, None);
        let second = replace_private(&disk, path, b"second");
        disk.restart(Survival::Mixed);
        let left = disk.read(path).unwrap();
        match second {
            Ok(()) => assert_eq!(left, b"second"),
            Err(_) => assert!(left == b"first" || left == b"second", "{left:?}"),
        }
    }
}

#[test]
fn a_full_disk_refuses_and_takes_again() {
    let disk = SimDisk::new(1);
    synced_file(&disk, "/a", &[1; 100]);
    disk.leave_room(10);
    let mut f = disk.append_private(Path::new("/a")).unwrap();
    let e = f.write_all(&[2; 20]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::StorageFull);
    assert_eq!(f.length_bytes().unwrap(), 110);
    disk.set_capacity(None);
    f.write_all(&[2; 20]).unwrap();
}

/// A sync after a failed sync succeeds, although the bytes are lost.
#[test]
fn what_a_failed_sync_forgot_stays_forgotten() {
    let mut forgotten = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        synced_file(&disk, "/a", b"x");
        let mut f = disk.append_private(Path::new("/a")).unwrap();
        f.write_all(b"yz").unwrap();
        disk.set_errors(Errors {
            sync: 1.0,
            ..Errors::default()
        });
        f.sync().unwrap_err();
        disk.set_errors(Errors::default());
        f.sync().unwrap();
        disk.restart(Survival::Everything);
        forgotten += u32::from(disk.read(Path::new("/a")).unwrap() != b"xyz");
    }
    assert!((10..40).contains(&forgotten), "{forgotten}");
}

#[test]
fn a_slow_disk_says_how_long_it_took() {
    let disk = SimDisk::new(1);
    disk.set_slow(10);
    synced_file(&disk, "/a", &[1; 100]);
    assert!(disk.take_busy_ns() >= 1000);
    assert_eq!(disk.take_busy_ns(), 0);
}

#[test]
fn a_lock_ends_with_its_holder_or_the_power() {
    let disk = SimDisk::new(1);
    let lock = || Disk::lock(&disk, Path::new("/lock")).unwrap();
    let held = lock();
    assert!(held.is_some() && lock().is_none());
    drop(held);
    let held = lock();
    disk.restart(Survival::Nothing);
    let again = lock();
    drop(held);
    assert!(again.is_some() && lock().is_none());
}
